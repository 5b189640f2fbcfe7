// An answer the server would not take as it was. Shown with what is stored; the person decides.

import * as outbox from "./outbox.js";
import { isCompound, say, uuid } from "./page.js";
import * as record from "./record.js";
import { rowName } from "./sheet.js";
import * as status from "./status.js";
import { answerWord } from "./view.js";

/** Show a held entry; where both answers say the same, settle it without asking. One that is broken stops no other. */
export function settle(entry, sender) {
  try {
    if (entry.held.code === "stale") settleStale(entry, sender);
    else showRefused(entry, sender, entry.held.detail);
  } catch (error) {
    reportError(error);
    showRefused(entry, sender, say("notReadable"));
  }
}

function settleStale(entry, sender) {
  const stored = new Map(entry.held.current.map((row) => [row.assignment, row]));
  leaveOutWhatIsAside(entry, stored);
  const differing = entry.body.answers.filter((own) => !sameVerdict(own, stored.get(own.assignment)));
  if (!differing.length) {
    if (entry.body.answers.some(saysMore)) void sendAnew(entry, stored, sender);
    else void drop(entry, stored);
    return;
  }
  status.notice(`held-${entry.seq}`, {
    kind: "wrong",
    text: say("elsewhere", { unit: nameOf(entry) }),
    rows: differing.map((own) => both(entry, own, stored.get(own.assignment))),
    acts: [
      [say("keepStored"), () => drop(entry, stored)],
      [say("saveOwn"), () => sendAnew(entry, stored, sender)],
    ],
  });
}

/** Rows that the server names no more were taken away: it keeps those answers aside, and only the others are at issue. */
function leaveOutWhatIsAside(entry, stored) {
  const answers = entry.body.answers.filter((own) => stored.has(own.assignment));
  if (answers.length === entry.body.answers.length) return;
  sayKeptAside(entry, say("keptAside"));
  entry.body = { ...entry.body, answers };
  void outbox.update(entry);
}

const sameVerdict = (own, stored) =>
  (own.label ?? null) === (stored.label ?? null) && (own.cannot_judge ?? null) === (stored.cannot_judge ?? null);

const saysMore = (own) => own.note || own.flag || own.problem || own.detail || own.reasons.length || own.atoms.length;

function both(entry, own, stored) {
  const said = say("elsewhereRow", { stored: answerWord(stored), own: answerWord(own) });
  if (!isCompound) return said;
  const screen = record.known(entry.position);
  const place = screen ? screen.rows.findIndex((row) => row.assignment === own.assignment) : -1;
  return place < 0 ? said : `${say("row", { n: rowName(screen, place) })} · ${said}`;
}

function nameOf(entry) {
  const screen = record.known(entry.position);
  return screen ? status.unitName(screen) : say("unit", { n: entry.position });
}

/** What is stored stands; the list of answers says so too. */
async function drop(entry, stored) {
  status.dismiss(`held-${entry.seq}`);
  const screen = record.known(entry.position);
  if (screen && stored) {
    const rows = screen.rows.map((row) => {
      const now = stored.get(row.assignment);
      if (!now) return row;
      const verdict = { label: now.label, cannot_judge: now.cannot_judge };
      return { ...row, revision: now.revision, answer: { ...row.answer, ...verdict } };
    });
    record.add({ ...screen, rows });
  }
  await outbox.remove(entry, "dropped");
}

/** The same answer again, given in sight of what is stored now: a new revision under a new key. */
async function sendAnew(entry, stored, sender) {
  status.dismiss(`held-${entry.seq}`);
  const answers = entry.body.answers.map((own) => ({ ...own, revision: stored.get(own.assignment).revision }));
  entry.body = { ...entry.body, answers };
  entry.client_key = uuid();
  delete entry.held;
  await outbox.update(entry);
  await sender.retryNow();
}

/** An answer that came after its item was taken away: the server keeps it, nothing is left to do. */
export function sayKeptAside(entry, detail) {
  const id = `aside-${entry.seq}`;
  status.notice(id, {
    kind: "warn",
    text: `${nameOf(entry)}: ${detail}`,
    acts: [[say("dismiss"), () => status.dismiss(id)]],
  });
}

function showRefused(entry, sender, detail) {
  const { status: code } = entry.held;
  const question = entry.kind === "question";
  status.notice(`held-${entry.seq}`, {
    kind: "wrong",
    text: `${say(question ? "notAsked" : "refused", { unit: nameOf(entry) })} ${detail || say("serverSays", { status: code })}`,
    rows: question ? [entry.text] : (entry.body?.answers ?? []).map((own) => answerWord(own)),
    acts: [
      [say("retry"), () => tryAgain(entry, sender)],
      [say("discard"), () => drop(entry, null)],
    ],
  });
}

async function tryAgain(entry, sender) {
  status.dismiss(`held-${entry.seq}`);
  delete entry.held;
  await outbox.update(entry);
  await sender.retryNow();
}
