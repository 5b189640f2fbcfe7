// The flow of judging: which screen is before the expert, and what becomes of it. Everything an answer needs
// happens in the same tick as the key press; the disk and the network follow.

import * as clock from "./clock.js";
import { advanced, unitPainted } from "./guard.js";
import * as outbox from "./outbox.js";
import { addressOf, isCompound, say, seat, uuid } from "./page.js";
import * as progress from "./progress.js";
import * as record from "./record.js";
import {
  answeredByRest, blanks, changes, isSideBySide, isTouched, openSheet, restore, snapshot, stepAt, stepFrom, withAnswers,
} from "./sheet.js";
import * as status from "./status.js";
import * as supply from "./supply.js";
import * as view from "./view.js";
import * as words from "./words.js";

export const owner = { user: seat.user.id, campaign: seat.campaign };

let current = null; // {sheet, clock, correcting}
let resume = null; // the open screen one comes back to after a correction
let drafts = new Map();
let send = () => {};
let readStanding = () => {};
const putOff = new Set(seat.postponed);
let undoable = []; // screens put off since the last answer: the key for "back" brings them back first

export const sheet = () => current?.sheet ?? null;
export const isCorrecting = () => Boolean(current?.correcting);
/** "", or why nothing of what is shown can be changed any more. */
export const whyClosed = () => closedBy()?.why ?? "";
const closedBy = () => current && status.closedBy(current.sheet.screen.part);

/** Begin with what the server painted; `waitingEntries` are answers of an earlier visit still under way. */
export async function begin({ flush, askStanding, waitingEntries }) {
  send = flush;
  readStanding = askStanding;
  progress.begin(waitingEntries.filter(isFirst));
  status.showProgress(seat.shown?.part);
  for (const entry of waitingEntries) supply.finish(entry.position);
  drafts = await outbox.draftsOf(owner);
  supply.add(seat.screens);
  record.begin(seat.recent);
  const shown = seat.shown;
  if (!shown || !view.hasDesk()) return;
  const [last] = seat.recent;
  if (last?.rows.every((row) => row.answer)) status.showLast(status.lastAnswer(last, last.rows.map((row) => row.answer)));
  if (shown.rows.every((row) => row.answer)) {
    correct(shown);
  } else if (supply.isFinished(shown.position)) {
    next();
  } else {
    supply.show(shown);
    showOpen(shown);
  }
}

/** Whether an entry holds the first answers to a screen, not a correction. */
const isFirst = (entry) => entry.kind === "answers" && entry.judged !== undefined;

function showOpen(screen, event) {
  const opened = openSheet(screen);
  const draft = drafts.get(screen.position);
  if (draft && draft.revisions === revisions(screen)) restore(opened, draft.kept);
  show({ sheet: opened, clock: clock.startClock(clockOf(screen)), correcting: false }, event);
}

const revisions = (screen) => screen.rows.map((row) => row.revision).join();

/** Under which name the time spent on a screen is kept, as it stands. */
const clockOf = (screen) => `${screen.position}:${revisions(screen)}`;

function show(what, event) {
  current = what;
  unitPainted(performance.now());
  const goesOn = resume !== null || supply.count() > 0;
  view.paint(what.sheet, { correcting: what.correcting, closed: closedBy(), goesOn });
  tellUnsaved();
  status.clearCue();
  status.announce("");
  status.showProgress(what.sheet.screen.part);
  if (seat.settings.reference === "shown") what.sheet.referenceSeen = what.sheet.screen.rows.some((row) => row.reference);
  clock.run(what.clock);
  afterPaint(what, event);
}

/** Once the frame is on the screen: the guard's clock starts, and what can wait is done. */
function afterPaint(what, event) {
  requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => {
      const at = performance.now();
      unitPainted(at);
      // Tests put an array there to measure the time from key to paint.
      if (event && self.assayMetrics) self.assayMetrics.push(at - event.timeStamp);
      view.reachLongTexts();
      void words.follow(what.sheet);
      setAddress(what.sheet.screen.position);
    };
    channel.port2.postMessage(null);
  });
}

function tellUnsaved() {
  status.showUnsaved(current !== null && isTouched(current.sheet));
}

function setAddress(position) {
  const address = `${seat.urls.judge}?position=${position}`;
  if (location.pathname + location.search === address) return;
  const first = history.state === null && location.search === "";
  history[first ? "replaceState" : "pushState"]({ position }, "", address);
  for (const input of document.querySelectorAll(".bar input[name=next]")) input.value = address;
}

/** The next open screen, from memory; where memory is empty, from the server. */
export function next(event) {
  const screen = supply.take();
  if (screen) {
    showOpen(screen, event);
    return;
  }
  current = null;
  tellUnsaved();
  status.clearCue();
  status.announce("");
  clock.stop();
  void fetchMore();
}

async function fetchMore() {
  view.paintNothing();
  const { status: code, body } = await supply.refill();
  if (current) return;
  if (code === 200 && supply.add(body.units)) goOn();
  else if (code !== 200) status.notice("no-more", { kind: "warn", text: say("noMore") });
}

/** New screens arrived: show one where none is shown. */
export function supplied(screens) {
  const added = supply.add(screens);
  if (current || !added) return;
  status.dismiss("no-more");
  goOn();
}

/** There is something to show again, perhaps given out since this page was opened: then the part is longer. */
function goOn() {
  next();
  progress.doubt();
  readStanding();
}

/** The screen changed under the expert's hands: keep it, so that a reload or a crash loses nothing. */
export function keepDraft() {
  tellUnsaved();
  if (!current || current.correcting) return;
  const { screen } = current.sheet;
  const draft = { revisions: revisions(screen), kept: structuredClone(snapshot(current.sheet)) };
  drafts.set(screen.position, draft);
  void outbox.saveDraft(owner, screen.position, draft);
}

/** The same for the time spent on it so far. */
export function keepTime() {
  if (current) clock.keep(clockOf(current.sheet.screen), current.clock);
}

function dropDraft(position) {
  if (drafts.delete(position)) void outbox.removeDraft(owner, position);
}

/** Move the cursor to a row; true where that leads into another step of the screen, which then has the focus. */
export function goTo(index, event) {
  const { sheet: moved } = current;
  const before = stepAt(moved);
  moved.focus = Math.max(0, Math.min(moved.rows.length - 1, index));
  if (stepAt(moved) === before) {
    view.paintFocus(moved);
    return false;
  }
  unitPainted(performance.now());
  view.paintStep(moved, { correcting: current.correcting });
  status.clearCue();
  status.announce("");
  status.hideUndo();
  keepDraft();
  afterPaint(current, event);
  return true;
}

/** To the step so many further on; false where there is none. */
export function step(by, event) {
  const to = current && stepFrom(current.sheet, by);
  return to ? goTo(to.from, event) : false;
}

/** Save what is on the screen and go on. False where something is missing; `event` is the press that did it. */
export function save(event) {
  if (!current) return false;
  if (whyClosed()) {
    status.cue(whyClosed());
    return false;
  }
  const here = stepAt(current.sheet);
  if (isIncomplete(here, event)) return false;
  if (!current.correcting && stepFrom(current.sheet, 1)) {
    advanced(event?.code);
    return step(1, event);
  }
  if (isIncomplete({ from: 0, to: current.sheet.rows.length }, event)) return false;
  if (current.correcting) return saveCorrection(event);
  const { sheet: saved } = current;
  enqueue(saved, changes(saved), current.clock);
  dropDraft(saved.screen.position);
  putOff.delete(saved.screen.position);
  undoable = [];
  supply.finish(saved.screen.position);
  progress.answered(saved.screen.position, saved.screen.part);
  advanced(event?.code);
  next(event);
  if (!current) status.showProgress(saved.screen.part); // nothing came that would show its own
  sayLast(saved);
  if (current?.sheet.screen.part !== saved.screen.part) sayPartDone(saved.screen.part);
  return true;
}

/** Whether one of these rows wants an answer or, where the campaign asks why, a reason. Goes there and says so. */
function isIncomplete(rows, event) {
  const missing = blanks(current.sheet, rows);
  if (missing.length && !isCompound) {
    status.cue(say("chooseDetail"));
    return true;
  }
  if (missing.length) {
    showMissing(missing[0], event);
    status.cue(say("blanksLeft", { n: missing.length }));
    return true;
  }
  const lacksReason = (row, index) => index >= rows.from && index < rows.to && row.label === "wrong" && !row.reasons.length;
  const bare = seat.settings.reasons === "required" ? current.sheet.rows.findIndex(lacksReason) : -1;
  if (bare < 0) return false;
  showMissing(bare, event);
  status.cue(say("reasonsMissing", { n: bare - stepAt(current.sheet).from + 1 }));
  return true;
}

function showMissing(index, event) {
  if (!goTo(index, event)) view.focusRow(current.sheet);
}

function sayLast(saved) {
  const text = status.lastAnswer(saved.screen, saved.rows);
  status.showLast(text);
  status.offerUndo(text);
}

function sayPartDone(part) {
  if (!status.partIsDone(part)) return;
  status.notice(`part-${part}`, {
    kind: "ok",
    text: say("partDone", { part: status.partName(part) }),
    acts: [[say("handIn"), addressOf("handIn", part)]],
  });
}

function saveCorrection(event) {
  const { sheet: saved } = current;
  const answers = changes(saved);
  if (answers.length) enqueue(saved, answers, current.clock);
  advanced(event?.code);
  leave(event);
  if (answers.length) status.cue(say("corrected"), "ok");
  else status.cue(say("unchanged"));
  if (answers.length) sayLast(saved);
  return true;
}

// Under which the answers of this page are given, whenever they arrive.
const circumstances = {
  guideline: seat.guideline,
  conditions: {
    language: seat.language,
    reference: seat.settings.reference,
    ...(isCompound && { highlight: seat.highlight ? "translation" : "source" }),
  },
};

function enqueue(saved, answers, spent) {
  const { screen } = saved;
  const body = { answers, ...clock.reading(spent), ...record.place(), ...circumstances };
  if (isCompound) {
    body.reference_seen = saved.referenceSeen;
    const display = isSideBySide(screen) ? "side_by_side" : "alone";
    body.conditions = { ...body.conditions, display, rest: answeredByRest(saved) };
  }
  const entry = { ...owner, kind: "answers", unit: screen.id, position: screen.position, client_key: uuid(), body };
  if (!current.correcting) entry.judged = screen.part; // one more of this part, in every tab
  clock.forget(clockOf(screen));
  record.add(withAnswers(screen, answers));
  outbox.add(structuredClone(entry)).then(send);
}

/** Put the screen at the end of its part. */
export function later(event) {
  if (!current) return;
  const { screen } = current.sheet;
  if (current.correcting) {
    status.cue(say("laterNotNow"));
    return;
  }
  if (!putOff.has(screen.position) && putOff.size >= seat.settings.postponedLimit) {
    status.cue(say("postponedFull", { n: putOff.size }));
    return;
  }
  keepTime();
  putOff.add(screen.position);
  const assignments = screen.rows.map((row) => row.assignment);
  outbox.add({ ...owner, kind: "later", unit: screen.id, position: screen.position, assignments }).then(send);
  supply.putOff(screen);
  undoable.push(screen);
  advanced(event?.code);
  next(event);
  const text = say("lastLater", { unit: status.unitName(screen) });
  status.showLast(text);
  status.offerUndo(text);
}

/** The screen that was put off last comes back before the expert. */
function takeBack(screen, event) {
  putOff.delete(screen.position);
  const assignments = screen.rows.map((row) => row.assignment);
  outbox.add({ ...owner, kind: "back", unit: screen.id, position: screen.position, assignments }).then(send);
  supply.bringBack(screen);
  status.hideUndo();
  showOpen(screen, event);
  status.showLast(say("lastBack", { unit: status.unitName(screen) }));
}

/** Put a private question to the managers about the unit on the screen. */
export function ask(text) {
  const { screen } = current.sheet;
  const entry = { ...owner, kind: "question", unit: screen.id, position: screen.position, client_key: uuid(), text };
  outbox.add(entry).then(send);
  status.cue(say("asked"), "ok");
}

/** Something was read in a window over the unit, for so many seconds: paid as a line of its own. */
export function addReading(seconds) {
  const entry = { ...owner, kind: "time", client_key: uuid(), body: { kind: "guideline", seconds } };
  outbox.add(entry).then(send);
  return entry;
}

/** Open an older answer to look at it or to correct it; where one goes back step by step, at its last step. */
export function correct(screen, event, { atLast = false } = {}) {
  if (!view.hasDesk()) {
    location.assign(`${seat.urls.judge}?position=${screen.position}`); // a page opened with nothing left on it
    return;
  }
  if (current?.correcting) clock.forget(clockOf(current.sheet.screen)); // only looked at
  else if (current) {
    keepTime();
    resume = current;
  }
  show({ sheet: openSheet(screen, { atLast }), clock: clock.startClock(clockOf(screen)), correcting: true }, event);
}

/** From a correction back to where one was. */
export function leave(event) {
  if (!current?.correcting) return;
  clock.forget(clockOf(current.sheet.screen));
  if (resume) {
    const back = resume;
    resume = null;
    if (supply.isFinished(back.sheet.screen.position)) next(event);
    else show(back, event);
  } else {
    next(event);
  }
}

/** One step or one answer back; from a correction, one further back. */
export async function back(event) {
  if (step(-1, event)) return;
  if (undoable.length && !current?.correcting) {
    takeBack(undoable.pop(), event);
    return;
  }
  const from = current?.correcting ? current.sheet.screen.position : null;
  const screen = await record.before(from);
  if (!screen) {
    status.cue(say("nothingBefore"));
    return;
  }
  status.hideUndo();
  correct(screen, event, { atLast: true });
}

/** The browser's own Back and Forward. */
export async function turnTo(position) {
  if (!position || position === current?.sheet.screen.position) return;
  if (position === resume?.sheet.screen.position) {
    leave();
    return;
  }
  const screen = await record.at(position);
  if (screen) correct(screen);
}

/** Something became of an answer on its way, in whatever tab. */
export function follow(message) {
  if (!isFirst(message.entry)) return;
  progress.follow(message);
  showStanding(message.entry.judged);
  if (message.why === "dropped") void comeAgain(message.entry);
}

/** A discarded answer leaves its unit open, unless another one is stored: the server knows, and hands it out. */
async function comeAgain({ position, held }) {
  supply.reopen(position);
  const { status: code, body } = await supply.refill();
  if (code !== 200) return;
  if (body.units.some((screen) => screen.position === position)) {
    record.forget(position);
    supplied(body.units);
  } else if (held?.code === "stale") {
    supply.finish(position);
  }
}

/** The figures changed: those of the screen before the expert, or of this part where there is none. */
export function showStanding(part) {
  status.showProgress(current?.sheet.screen.part ?? part);
  status.withdrawPartDone();
}

/** This unit was answered in another tab. */
export function answeredElsewhere(entry) {
  supply.finish(entry.position);
  dropDraft(entry.position);
  undoable = undoable.filter((screen) => screen.position !== entry.position);
  if (current?.correcting || current?.sheet.screen.position !== entry.position) return;
  const { sheet: shown } = current;
  status.notice("other-tab", {
    kind: "info",
    text: say("otherTab", { unit: status.unitName(shown.screen) }),
    acts: [[say("dismiss"), () => status.dismiss("other-tab")]],
  });
  if (!isTouched(shown)) next();
}
