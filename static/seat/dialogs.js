// Windows over the page. Esc closes each; the key that opened one closes it again; the unit stays where it is.

import { call } from "./api.js";
import * as clock from "./clock.js";
import { keyOf } from "./keys.js";
import { byId, say, seat, uuid } from "./page.js";

export const openDialog = () => document.querySelector("dialog[open]");

export function show(id) {
  const dialog = byId(id);
  if (dialog && !dialog.open) {
    if (id === "guidelines-dialog") startReading();
    dialog.showModal();
  }
  return dialog;
}

const CLOSED_BY = { "guidelines-dialog": "guidelines", "define-dialog": "define", "keys-dialog": "help" };

// Reading the guidelines is paid as a line of its own: the unit's clock stands still meanwhile.
const GLANCE = 5; // seconds: less is not reading

let since = 0;
let unit = null;

function startReading() {
  since = performance.now();
  unit = clock.stop();
}

byId("guidelines-dialog")?.addEventListener("close", () => {
  if (unit) clock.run(unit);
  const seconds = Math.round(performance.now() - since) / 1000;
  if (seconds < GLANCE) return;
  const line = { kind: "guideline", seconds, client_key: uuid() };
  call("POST", seat.urls.time, line, { keepalive: true }); // what does not arrive can be corrected by hand
});

/** Keys while a window is open. */
export function onKey(event, dialog) {
  if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing || event.repeat) return;
  const action = CLOSED_BY[dialog.id];
  const closes = action && (event.code === keyOf(action) || (action === "help" && event.key === "?"));
  if (closes && !remapping) {
    event.preventDefault();
    dialog.close();
  }
  if (dialog.id === "cause-dialog") pickCause(event, dialog);
}

function pickCause(event, dialog) {
  const digit = /^(?:Digit|Numpad)([0-9])$/.exec(event.code);
  if (!digit) return;
  const number = Number(digit[1]);
  const code = number ? seat.causes[number - 1]?.code : "";
  if (code === undefined) return;
  event.preventDefault();
  dialog.querySelector(`[data-cause="${code}"]`).click();
}

let remapping = false;
export function setRemapping(on) {
  remapping = on;
}

let onCause = () => {};

/** Ask why; `done(code)` hears it, "" where it is taken back, nothing where the window is closed. */
export function askCause(done) {
  onCause = done;
  show("cause-dialog").querySelector("[data-cause]").focus();
}

byId("cause-dialog").addEventListener("click", (event) => {
  const button = event.target.closest("[data-cause]");
  if (!button) return;
  byId("cause-dialog").close();
  onCause(button.dataset.cause);
});

let onNote = () => {};

/** Write a note; `done(text)` hears every change, so that nothing typed is lost. */
export function askNote(text, done) {
  const box = byId("note-text");
  onNote = done;
  box.value = text;
  countNote();
  show("note-dialog");
  box.focus();
}

/** Counted in code points, as the server counts. */
function countNote() {
  const limit = seat.settings.noteLimit;
  const points = Array.from(byId("note-text").value);
  if (points.length > limit) byId("note-text").value = points.slice(0, limit).join("");
  byId("note-count").textContent = say("characters", { n: Math.min(points.length, limit), limit });
}

byId("note-text").addEventListener("input", (event) => {
  if (!event.isComposing) countNote();
  onNote(byId("note-text").value);
});
byId("note-text").addEventListener("compositionend", () => {
  countNote();
  onNote(byId("note-text").value);
});

const unasked = new Map(); // by screen: what was typed and not sent
let asks = null; // {position, done}

/** Write a question about the unit; `done(text)` hears it once it is to be sent. */
export function askQuestion(position, done) {
  asks = { position, done };
  byId("question-text").value = unasked.get(position) ?? "";
  countQuestion();
  show("question-dialog");
  byId("question-text").focus();
}

function countQuestion() {
  const limit = seat.settings.questionLimit;
  byId("question-count").textContent = say("characters", { n: Array.from(byId("question-text").value).length, limit });
}

byId("question-text").addEventListener("input", () => {
  unasked.set(asks.position, byId("question-text").value);
  countQuestion();
});

byId("question-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = byId("question-text").value.trim();
  if (!text) return;
  unasked.delete(asks.position);
  byId("question-dialog").close();
  asks.done(Array.from(text).slice(0, seat.settings.questionLimit).join(""));
});

/** The relation's own definition, out of all that the page holds. */
export function define(relation) {
  const dialog = byId("define-dialog");
  if (!dialog) return show("guidelines-dialog");
  for (const card of dialog.querySelectorAll("[data-relation]")) card.hidden = card.dataset.relation !== relation;
  return show("define-dialog");
}

document.addEventListener("click", (event) => {
  const close = event.target.closest("[data-close]");
  if (close) close.closest("dialog").close();
});
