// Keys, clicks and touches come in here, pass the guard, and become actions.

import { actions, answerTriple, hideReference, perform, reference, referenceButton, toggleAtom, toggleReason, verdict } from "./actions.js";
import * as desk from "./desk.js";
import { onKey as onDialogKey, openDialog } from "./dialogs.js";
import { advanced, allUp, bounces, clickObjection, keyUp, objection, unitPainted } from "./guard.js";
import { actionOf, inTextBox, keyOf } from "./keys.js";
import { byId, isCompound, say } from "./page.js";
import { prefs } from "./prefs.js";
import * as status from "./status.js";
import * as view from "./view.js";

let byPointer = false;
let lastCode = null;
let typed = false; // the last press went into a text box

// A press for these is no answer: it loses nothing when it comes early.
const HARMLESS = new Set([
  ...["guidelines", "help", "define", "reference", "exact", "words", "ask", "history", "search", "note", "leave", "other"],
]);

function onKeyDown(event) {
  byPointer = false;
  lastCode = event.code;
  const bounced = bounces(event);
  const dialog = openDialog();
  if (dialog) seenAnew(dialog); // this press may close it
  if (inTextBox(event.target)) {
    if (bounced && !typed && !event.repeat) event.preventDefault(); // of the key that opened the window
    typed = true;
    return;
  }
  typed = false;
  if (dialog) {
    if (!bounced) onDialogKey(event, dialog);
    return;
  }
  const found = actionOf(event);
  if (!found) return;
  if (found.name === "save" && actsItself(event)) {
    if (event.repeat || bounced) event.preventDefault();
    return;
  }
  if (["up", "down"].includes(found.name) && (!isCompound || !prefs.shortcuts)) return;
  const why = HARMLESS.has(found.name) ? harmlessObjection(found, event, bounced) : objection(event, bounced);
  if (why) {
    event.preventDefault();
    if (why !== "repeat") status.cue(say(why));
    return;
  }
  if (perform(found, event) && found.name !== "other") event.preventDefault();
}

// Who writes about a unit has read it, and goes on with it once the window is closed.
const WRITTEN_IN = new Set(["note-dialog", "question-dialog"]);

/** The unit beneath a window is seen anew once that closes. */
function seenAnew(dialog) {
  if (!WRITTEN_IN.has(dialog.id)) unitPainted(performance.now());
}

/** What loses nothing when it comes early would still be undone by a bounce; the reference is on while its key is down. */
function harmlessObjection(found, event, bounced) {
  return event.repeat || (bounced && found.name !== "reference") ? "repeat" : "";
}

/** A button or link reached with the Tab key does its own thing on Enter and Space. */
function actsItself(event) {
  const { target } = event;
  if (target.matches("input[type=radio]")) return event.code === "Space";
  return target.matches("a, button, summary, input, select");
}

function onKeyUp(event) {
  keyUp(event.code);
  if (event.code === keyOf("reference")) hideReference();
}

function onClick(event) {
  const control = event.target.closest(
    "[data-action], [data-answer], [data-reason], [data-atom], .verdict, #save",
  );
  const row = control ? null : event.target.closest("[data-row]");
  if (row && desk.sheet()) useRowOf(row);
  if (!control || control.closest("dialog")) return;
  const { action } = control.dataset;
  if (!desk.sheet() && !["back", "history", "search", "guidelines", "help"].includes(action)) return;
  const answers = control.matches("[data-answer], .verdict, #save") || action === "later";
  const why = answers && event.target.tagName !== "INPUT" ? clickObjection(event) : "";
  if (why) {
    event.preventDefault();
    event.stopPropagation();
    status.cue(say(why));
    return;
  }
  if (control.matches(".verdict")) return; // its radio tells, by a change
  event.preventDefault();
  if (event.detail === 0) advanced(lastCode); // a button pressed with a key: that key must come up first
  act(control, event);
  if (event.detail > 0 && !openDialog()) rest(control);
}

function act(control, event) {
  const { action, answer, detail, reason, atom } = control.dataset;
  if (answer) answerTriple(answer, detail, event);
  else if (reason || atom) {
    useRowOf(control);
    if (reason) toggleReason(reason);
    else toggleAtom(Number(atom));
  } else if (action === "reference") referenceButton();
  else if (control.id === "save") perform({ name: "save" }, event);
  else perform({ name: action }, event);
}

/** After a click the keys belong to the unit again, not to the button. */
function rest(control) {
  if (!control.isConnected || control.matches("[data-reason], [data-atom]")) byId("unit")?.focus({ preventScroll: true });
  else if (document.activeElement === control) byId("unit")?.focus({ preventScroll: true });
}

function useRowOf(node) {
  const index = view.rowOf(node);
  if (index < 0 || index === desk.sheet().focus) return;
  desk.sheet().focus = index;
  view.paintFocus(desk.sheet());
}

function onChange(event) {
  const radio = event.target.closest(".verdict input");
  if (!radio || !desk.sheet()) return;
  const row = radio.closest("[data-row]");
  verdict(view.rowOf(row), radio.value);
  if (byPointer && !openDialog()) row.focus({ preventScroll: true });
}

export function begin() {
  document.addEventListener("keydown", onKeyDown);
  document.addEventListener("keyup", onKeyUp);
  document.addEventListener("click", onClick);
  document.addEventListener("close", (event) => seenAnew(event.target), true); // any window over the page
  document.addEventListener("pointerdown", (event) => {
    byPointer = true;
    document.body.classList.toggle("by-touch", event.pointerType === "touch");
  });
  window.addEventListener("blur", () => {
    allUp();
    reference(false);
  });
  byId("sheet")?.addEventListener("change", onChange);
  byId("sheet")?.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!event.submitter) actions.save(null, event);
  });
}
