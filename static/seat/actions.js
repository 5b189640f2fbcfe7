// What each key and button does to the screen. The flow from screen to screen stands in desk.js.

import * as desk from "./desk.js";
import * as dialogs from "./dialogs.js";
import { openList } from "./look_back.js";
import { isCompound, say, seat } from "./page.js";
import * as rules from "./sheet.js";
import * as status from "./status.js";
import * as view from "./view.js";
import * as words from "./words.js";

const TRIPLE_ANSWERS = seat.settings.zeroDetail
  ? [["often"], ["sometimes"], ...seat.details.map((detail) => ["rarely", detail.code])]
  : [["often"], ["sometimes"], ["rarely"]];

/** After a change to a row: show it, keep it, say it. */
function changed(index, said) {
  const sheet = desk.sheet();
  view.paintRow(sheet, index);
  view.paintSave(sheet, desk.isCorrecting());
  status.clearCue();
  desk.keepDraft();
  if (said) status.announce(said);
}

/** Whether nothing of the part changes any more; says why. */
function isClosed() {
  const why = desk.whyClosed();
  if (why) status.cue(why);
  return Boolean(why);
}

function sayRow(index) {
  const sheet = desk.sheet();
  const n = index - rules.stepAt(sheet).from + 1;
  return say("rowIs", { n, answer: view.answerWord(sheet.rows[index]) });
}

/** A triple is answered and done with one press; a correction is first looked at, then saved. */
export function answerTriple(label, detail, event) {
  const sheet = desk.sheet();
  if (!sheet || isClosed()) return;
  rules.choose(sheet, 0, label, detail ?? null);
  if (desk.isCorrecting()) changed(0, view.answerWord(sheet.rows[0]));
  else desk.save(event);
}

export function verdict(index, value) {
  desk.goTo(index);
  if (isClosed()) {
    view.paintRow(desk.sheet(), index);
    return;
  }
  if (value === "cannot_judge") {
    view.paintRow(desk.sheet(), index); // not chosen until its cause is
    actions.cannot();
    return;
  }
  rules.choose(desk.sheet(), index, value);
  changed(index, sayRow(index));
}

function digit({ number }, event) {
  const sheet = desk.sheet();
  if (!isCompound) {
    const answer = TRIPLE_ANSWERS[number - 1];
    if (answer) answerTriple(answer[0], answer[1], event);
    return;
  }
  const { from, to } = rules.stepAt(sheet);
  const many = to - from > 9; // beyond nine rows: arrows, and 1 or 2 for the row they stand on
  const index = many ? sheet.focus : from + number - 1;
  if (index >= to || (many && number > 2)) return;
  desk.goTo(index);
  if (many) rules.choose(sheet, index, number === 1 ? "wrong" : "correct");
  else rules.press(sheet, index);
  changed(index, sayRow(index));
}

export function toggleReason(code) {
  const { rows, focus } = desk.sheet();
  if (rows[focus].label !== "wrong" || isClosed()) return;
  rules.toggleIn(rows[focus], "reasons", code);
  changed(focus);
}

export function toggleAtom(atom) {
  const { rows, focus, screen } = desk.sheet();
  if (!isCompound || rows[focus].label !== "wrong" || atom >= screen.atoms.length || isClosed()) return;
  rules.toggleIn(rows[focus], "atoms", atom);
  changed(focus);
}

export function reference(on) {
  const sheet = desk.sheet();
  if (!sheet || seat.settings.reference !== "on_demand") return;
  if (!view.showReference(sheet, on) || sheet.referenceSeen) return;
  sheet.referenceSeen = true;
  desk.keepDraft();
}

let referenceStays = false;

export const actions = {
  digit,
  atom: ({ number }) => toggleAtom(number - 1),
  other({ code }) {
    const reason = isCompound && seat.reasons.find((one) => one.key === code);
    if (reason) toggleReason(reason.code);
  },
  rest() {
    if (!isCompound) return;
    const sheet = desk.sheet();
    const { rows, undone } = rules.markRest(sheet);
    status.clearCue();
    for (const index of rows) view.paintRow(sheet, index);
    view.paintSave(sheet, desk.isCorrecting());
    desk.keepDraft();
    if (rows.length) status.announce(undone ? say("restUndone") : say("restMarked", { n: rows.length }));
  },
  clear() {
    const sheet = desk.sheet();
    if (!isCompound) return;
    rules.clear(sheet, sheet.focus);
    changed(sheet.focus, sayRow(sheet.focus));
  },
  up: (_found, event) => move(-1, event),
  down: (_found, event) => move(1, event),
  stepBack: (_found, event) => desk.step(-1, event),
  stepOn: (_found, event) => desk.step(1, event),
  save(_found, event) {
    if (isCompound || desk.isCorrecting()) desk.save(event);
  },
  cannot() {
    const sheet = desk.sheet();
    const index = sheet.focus;
    dialogs.askCause((code) => {
      if (!isCompound) sheet.rows[0].problem = code || null;
      else if (code) rules.cannotJudge(sheet, index, code);
      else if (sheet.rows[index].cannot_judge) rules.clear(sheet, index);
      changed(index);
    });
  },
  unsure() {
    const { rows, focus } = desk.sheet();
    rows[focus].flag = !rows[focus].flag;
    changed(focus, say(rows[focus].flag ? "unsure" : "notUnsure"));
  },
  note() {
    const { rows, focus } = desk.sheet();
    dialogs.askNote(rows[focus].note, (text) => {
      rows[focus].note = text;
      changed(focus);
    });
  },
  later: (_found, event) => desk.later(event),
  reference: () => reference(true),
  exact: () => view.toggleExact(desk.sheet()),
  words() {
    if (isCompound) void words.toggle(desk.sheet());
  },
  ask: () => dialogs.askQuestion(desk.sheet().screen.position, desk.ask),
  define: () => dialogs.define(isCompound ? null : desk.sheet().screen.rows[0].relation),
};

// What may be done where the part is handed in.
const LOOKS = new Set(["up", "down", "stepBack", "stepOn", "reference", "exact", "words", "ask", "define", "other"]);

// These need no unit on the page.
export const always = {
  back: (_found, event) => void desk.back(event),
  leave: (_found, event) => desk.leave(event),
  guidelines: () => dialogs.show("guidelines-dialog"),
  help: () => dialogs.show("keys-dialog"),
  history: () => void openList({ search: false }),
  search: () => void openList({ search: true }),
};

/** The button has no "held": one click shows the reference, the next hides it. */
export function referenceButton() {
  referenceStays = !referenceStays;
  reference(referenceStays);
}

export function hideReference() {
  referenceStays = false;
  reference(false);
}

function move(by, event) {
  if (!isCompound) return;
  if (!desk.goTo(desk.sheet().focus + by, event)) view.focusRow(desk.sheet());
}

/** Do what a key or a button asks for; false where it means nothing here. */
export function perform(found, event) {
  if (always[found.name]) {
    always[found.name](found, event);
    return true;
  }
  if (!desk.sheet() || !actions[found.name]) return false;
  if (!LOOKS.has(found.name) && isClosed()) return true;
  actions[found.name](found, event);
  return true;
}
