// Windows over the page. Esc closes each; the key that opened one closes it again; the unit stays where it is.

import * as clock from "./clock.js";
import { advanced } from "./guard.js";
import { keyOf } from "./keys.js";
import { byId, say, seat } from "./page.js";
import { firstPoints, pointsOf } from "./text.js";

export const openDialog = () => document.querySelector("dialog[open]");

export function show(id) {
  const dialog = byId(id);
  if (dialog && !dialog.open) {
    if (id === "guidelines-dialog") clock.startAside();
    dialog.showModal();
  }
  return dialog;
}

const CLOSED_BY = { "guidelines-dialog": "guidelines", "define-dialog": "define", "keys-dialog": "help" };

// Reading the guidelines is paid as a line of its own: the unit's clock stands still meanwhile.
const GLANCE = 5; // seconds in sight: less is not reading

let onRead = () => {};

/** `done(seconds)` hears how long the guidelines were read, whenever they were. */
export function onReading(done) {
  onRead = done;
}

/** The guidelines are closed, or the page is: gives what `onReading` made of it, if they were read. */
export function stopReading() {
  const seconds = clock.stopAside();
  return seconds >= GLANCE ? onRead(seconds) : null;
}

byId("guidelines-dialog")?.addEventListener("close", stopReading);

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

const countNote = () => limited("note", seat.settings.noteLimit);

/** What is too long is cut, and the count said: in code points, as the server counts. */
function limited(name, limit) {
  const box = byId(`${name}-text`);
  const kept = firstPoints(box.value, limit);
  if (kept !== box.value) {
    const at = box.selectionStart;
    box.value = kept;
    box.setSelectionRange(at, at);
  }
  byId(`${name}-count`).textContent = say("characters", { n: pointsOf(kept), limit });
}

/** Hear of every change of a text; it is not touched while an input method composes. */
function onTyped(name, limit, hear) {
  const box = byId(`${name}-text`);
  box.addEventListener("input", (event) => {
    if (!event.isComposing) limited(name, limit);
    hear(firstPoints(box.value, limit));
  });
  box.addEventListener("compositionend", () => {
    limited(name, limit);
    hear(box.value);
  });
}

onTyped("note", seat.settings.noteLimit, (text) => onNote(text));

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

const countQuestion = () => limited("question", seat.settings.questionLimit);

onTyped("question", seat.settings.questionLimit, (text) => unasked.set(asks.position, text));

byId("question-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = byId("question-text").value.trim();
  if (!text) return;
  unasked.delete(asks.position);
  byId("question-dialog").close();
  asks.done(firstPoints(text, seat.settings.questionLimit));
});

byId("question-text").addEventListener("keydown", (event) => {
  const sends = (event.ctrlKey || event.metaKey) && ["Enter", "NumpadEnter"].includes(event.code);
  if (!sends || event.isComposing || event.repeat) return;
  event.preventDefault();
  advanced(event.code); // held on, it must not save what lies beneath
  byId("question-form").requestSubmit();
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
