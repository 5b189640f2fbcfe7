// Presses that nobody meant: auto-repeat, a key still held from the last answer, a bouncing switch, a press
// before the eye can have read. Dropped, never queued; the caller shows a cue.

import { prefs } from "./prefs.js";

const BOUNCE = 30; // milliseconds: a worn switch, never a finger

let paintedAt = -Infinity;
let advancedBy = null;
let lastCode = null;
let lastAt = -Infinity;

/** A unit came before the eye: a new one, or the one under a window that closed, if nothing was written about it there. */
export function unitPainted(at) {
  paintedAt = at;
}

/** Remember which key moved the page on: it must come up before anything moves it on again. */
export function advanced(code) {
  advancedBy = code;
}

export function keyUp(code) {
  if (code === advancedBy) advancedBy = null;
}

/** Key-ups are lost when the window is left with a key down. */
export function allUp() {
  advancedBy = null;
}

/** Whether a worn switch repeated the press before. Every press is told here, wherever on the page it goes; what counts
 * is when it was made, for a page that is busy hears of it later.
 */
export function bounces(event) {
  const bounced = event.code === lastCode && event.timeStamp - lastAt < BOUNCE;
  [lastCode, lastAt] = [event.code, event.timeStamp];
  return bounced;
}

/** "" where the press counts, else the reason why it does not. */
export function objection(event, bounced) {
  if (event.repeat) return "repeat";
  if (advancedBy) return "stillHeld";
  if (performance.now() - paintedAt < prefs.guard) return "tooEarly";
  return bounced ? "repeat" : "";
}

/** The same for a click or a touch: a double click must not answer twice. */
export function clickObjection(event) {
  if (event.detail > 1 && performance.now() - paintedAt < 600) return "tooEarly";
  return performance.now() - paintedAt < prefs.guard ? "tooEarly" : "";
}
