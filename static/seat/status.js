// What the page says about itself: the badge, progress, the last answer, cues, notices.

import { byId, isCompound, say, seat } from "./page.js";
import * as progress from "./progress.js";
import { rowName } from "./sheet.js";
import { element, short } from "./text.js";
import { answerWord } from "./view.js";

const badge = byId("badge");
const last = document.querySelector("#last .said");

export function announce(text) {
  byId("announcer").textContent = text;
}

let cueTimer = null;

/** A short word beside the unit: something was dropped, or is missing; `kind` is "ok" where something was done. */
export function cue(text, kind = "") {
  const node = byId("cue");
  if (!node) return;
  node.textContent = text;
  node.classList.toggle("ok", kind === "ok");
  document.body.classList.add("is-cued");
  clearTimeout(cueTimer);
  cueTimer = setTimeout(clearCue, 2500);
}

export function clearCue() {
  const node = byId("cue");
  if (node?.textContent) node.textContent = "";
  document.body.classList.remove("is-cued");
}

const BADGES = {
  "": { kind: "info", sign: "↑", word: "waiting" },
  offline: { kind: "warn", sign: "!", word: "offline" },
  server: { kind: "warn", sign: "!", word: "offline" },
  signedOut: { kind: "wrong", sign: "!", word: "signedOut" },
  otherUser: { kind: "wrong", sign: "!", word: "signedOut" },
};

let sending = { n: 0, held: 0, trouble: "" };
let unsaved = false;

/** `n` answers wait, `held` of them for a person; `trouble` says why they do not go out. */
export function showBadge(state) {
  sending = state;
  paintBadge();
}

/** Whether something was chosen on the screen that is saved nowhere but in this browser: no badge says "saved" then. */
export function showUnsaved(on) {
  if (on === unsaved) return;
  unsaved = on;
  paintBadge();
}

function paintBadge() {
  const { n, held, trouble } = sending;
  let look = unsaved ? { kind: "", sign: "○", word: "notSaved" } : { kind: "ok", sign: "✓", word: "saved" };
  if (held) look = { kind: "wrong", sign: "!", word: "needsYou" };
  else if (n || trouble) look = BADGES[trouble];
  badge.className = `badge script-only ${look.kind}`;
  badge.querySelector(".sign").textContent = look.sign;
  badge.querySelector(".word").textContent = say(look.word, { n: held || n });
}

let shownPart = seat.progress.part;

export function showProgress(part = shownPart) {
  const own = progress.partOf(part);
  if (!own) return;
  shownPart = part;
  const done = progress.doneOf(own);
  byId("part-name").textContent = own.name;
  byId("progress").max = own.total;
  byId("progress").value = done;
  byId("progress-text").textContent = `${done} / ${own.total}`;
}

/** What is said of a part whose answers can be looked at, not changed; undefined where they can be. */
export const closedBy = (part) => seat.whyClosed.find((one) => one.by === seat.closedBy[part]);

/** What people call a part; one that came since this page was opened goes by its number. */
export const partName = (part) => progress.partOf(part)?.name ?? say("part", { part: part + 1 });

export const partIsDone = (part) => progress.isDone(part) && !closedBy(part);

/** That a part is fully judged is said no longer where it turned out otherwise. */
export function withdrawPartDone() {
  for (const node of document.querySelectorAll('[data-notice^="part-"]')) {
    if (!partIsDone(Number(node.dataset.notice.slice("part-".length)))) node.remove();
  }
}

/** Answers of the managers that were not read yet; the way to them. */
export function showNewAnswers(n) {
  const link = byId("new-answers");
  link.hidden = !n;
  if (n) link.querySelector(".word").textContent = say("newAnswers", { n });
}

/** The guidelines are another version than the one on this page, under which its answers go on: said once. */
export function tellNewGuidelines() {
  if (document.querySelector("[data-notice=guidelines]")) return;
  notice("guidelines", { kind: "info", text: say("newGuidelines"), acts: [[say("seeChange"), seat.urls.change]] });
}

const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;

/** A unit's name inside a sentence; where it runs from right to left it turns nothing around it. */
export function unitName(screen) {
  const name = short(isCompound ? screen.compound : screen.rows[0].head);
  return RIGHT_TO_LEFT.test(name) ? `\u2068${name}\u2069` : name;
}

export function showLast(text) {
  last.textContent = text;
}

export function lastAnswer(screen, rows) {
  return say("lastAnswer", { unit: unitName(screen), answer: isCompound ? summary(screen, rows) : answerWord(rows[0]) });
}

/** "row 2 wrong": the rows by number. */
function summary(screen, rows) {
  const numbers = (test) => rows.flatMap((row, index) => (test(row) ? [rowName(screen, index)] : []));
  const wrong = numbers((row) => row.label === "wrong");
  const cannot = numbers((row) => row.cannot_judge);
  const parts = [];
  if (wrong.length) parts.push(ofRows(wrong, "rowWrong", "rowsWrong"));
  if (cannot.length) parts.push(ofRows(cannot, "rowCannot", "rowsCannot"));
  return parts.join(say("between")) || say("allCorrect");
}

const ofRows = (numbers, one, several) => say(numbers.length > 1 ? several : one, { rows: numbers.join(say("between")) });

const SIGNS = { ok: "✓", info: "i", warn: "!", wrong: "✗" };

/** A notice that stays until it is dealt with; one for each `id`. `acts` are [word, what it does]. */
export function notice(id, { kind, text, rows = [], acts = [] }) {
  dismiss(id);
  const node = byId("notice-template").content.firstElementChild.cloneNode(true);
  node.dataset.notice = id;
  node.classList.add(kind);
  node.querySelector(".sign").textContent = SIGNS[kind];
  node.querySelector(".said").textContent = text;
  node.querySelector(".said-rows").replaceChildren(...rows.map((row) => element("li", "", row)));
  for (const [word, act] of acts) node.querySelector(".acts").append(actFor(word, act));
  byId("notices").append(node);
}

function actFor(word, act) {
  if (typeof act === "string") {
    const link = element("a", "button small", word);
    link.href = act;
    return link;
  }
  const button = element("button", "button small", word);
  button.type = "button";
  button.addEventListener("click", act);
  return button;
}

export function dismiss(id) {
  document.querySelector(`[data-notice="${CSS.escape(id)}"]`)?.remove();
}

let undoTimer = null;

/** On touch there is no key to take an answer back: a bar for five seconds. */
export function offerUndo(text) {
  const bar = byId("undo-bar");
  bar.querySelector(".said").textContent = text;
  bar.hidden = false;
  clearTimeout(undoTimer);
  undoTimer = setTimeout(hideUndo, 5000);
}

export function hideUndo() {
  byId("undo-bar").hidden = true;
}
