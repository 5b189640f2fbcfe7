// Where the words of a translation begin: faint marks on demand. The server knows; asked once for each screen.

import { call } from "./api.js";
import { addressOf, say } from "./page.js";
import * as status from "./status.js";
import * as view from "./view.js";

const known = new Map(); // by position: {assignment: [code points]}
let on = false;
let shown = null;
let asked = null; // the screen on which it is said that they are coming: on those that follow they come unsaid

/** Switch the marks on or off, for this screen and those that follow. */
export async function toggle(sheet) {
  on = !on;
  document.querySelector("[data-action=words]")?.setAttribute("aria-pressed", on);
  status.clearCue();
  asked = on && !known.has(sheet.screen.position) ? sheet : null;
  if (asked) status.cue(say("wordsComing")); // the server's first look into its dictionary takes seconds
  if (on) await follow(sheet);
  else view.markWords(sheet, {});
}

/** A screen was painted: mark its words if that is wanted, as soon as they are known. */
export async function follow(sheet) {
  shown = sheet;
  if (!on) return;
  const starts = await startsOf(sheet.screen.position);
  if (!on || shown !== sheet) return;
  if (starts) {
    if (asked === sheet) status.clearCue();
    asked = null;
    view.markWords(sheet, starts);
  } else status.cue(say("noWords"));
}

async function startsOf(position) {
  if (!known.has(position)) {
    const { status: code, body } = await call("GET", addressOf("words", position));
    if (code !== 200) return null;
    known.set(position, body.starts);
  }
  return known.get(position);
}
