// Time at one unit, three ways: on the wall, while the page could be seen, and while somebody was there
// (something was pressed, moved or scrolled within the last half minute). Only sums are kept.

import { seat } from "./page.js";

const AWAY = 30_000;
const REST = seat.settings.restMinutes * 60_000;

let lastSign = performance.now();
let running = null;
let activeInAll = 0;
let restDue = REST;

export function startClock() {
  return { wall: 0, visible: 0, active: 0 };
}

/** Let this clock run; the one before it stops. */
export function run(clock) {
  tick();
  running = clock;
}

/** No clock runs; gives the one that did. */
export function stop() {
  tick();
  const stopped = running;
  running = null;
  return stopped;
}

export function reading(clock) {
  if (clock === running) tick();
  return {
    seconds: seconds(clock.wall),
    visible_seconds: seconds(clock.visible),
    active_seconds: seconds(clock.active),
  };
}

/** True once for every fifty active minutes. */
export function restIsDue() {
  if (activeInAll < restDue) return false;
  restDue = activeInAll + REST;
  return true;
}

let since = performance.now();
let wasVisible = document.visibilityState === "visible";

function tick() {
  const now = performance.now();
  if (running) {
    const passed = now - since;
    const active = wasVisible ? Math.max(0, Math.min(now, lastSign + AWAY) - since) : 0;
    running.wall += passed;
    running.visible += wasVisible ? passed : 0;
    running.active += active;
    activeInAll += active;
  }
  since = now;
}

function sign() {
  const now = performance.now();
  if (now - lastSign > 1000) tick();
  lastSign = now;
}

const seconds = (milliseconds) => Math.round(milliseconds) / 1000;

document.addEventListener("visibilitychange", () => {
  tick();
  wasVisible = document.visibilityState === "visible";
});
for (const kind of ["keydown", "pointerdown", "pointermove", "wheel", "touchmove"]) {
  document.addEventListener(kind, sign, { passive: true, capture: true });
}
