// Sends what waits in the outbox, the oldest first, one at a time in all tabs together. Whatever happens an
// entry is either acknowledged and removed, or kept; and whatever is wrong with it, the others go out.

import { call, whoIsHere } from "./api.js";
import * as outbox from "./outbox.js";
import { addressOf, say, seat } from "./page.js";

const LONGEST_WAIT = 30_000;
const PARTED = 20; // entries handed to the browser when the page goes away
const PARTING_ROOM = 60_000; // bytes: what a browser takes along is bounded
const FAULTS = 3; // that many entries in a row on which the server fails: it is the server, not the entry

// What may not overtake one another: the entries of one screen.
const orderOf = ({ kind, position, seq }) => (["question", "time"].includes(kind) ? `${kind} ${seq}` : position);

/**
 * `owner` is {user, campaign}; `ask()` says what to fetch along with a save: {after, count}. `tell` has
 * onSaved(entry, body), onHeld(entry), onState({trouble, status}).
 */
export function createSender({ owner, ask, tell }) {
  let failures = 0;
  let timer = null;
  let busy = false;
  let again = false;
  let stopped = null; // "signedOut" or "otherUser": nothing is sent until the person is back

  async function flush() {
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    clearTimeout(timer);
    try {
      if (!stopped) await withLock(`assay-send-${owner.user}-${owner.campaign}`, sendAll);
    } finally {
      busy = false;
    }
    if (again) {
      again = false;
      void flush();
    }
  }

  async function sendAll() {
    const behind = new Set(); // screens with an entry that did not go out: theirs wait, the others go on
    let faults = 0;
    for (;;) {
      const entries = (await outbox.waiting(owner)).filter((one) => !one.held && !behind.has(orderOf(one)));
      if (!entries.length) break;
      for (const entry of entries) {
        if (behind.has(orderOf(entry))) continue;
        const went = await attempt(entry);
        if (!went) return;
        faults = went === "fault" ? faults + 1 : 0;
        if (faults) behind.add(orderOf(entry));
        if (faults === FAULTS) return;
      }
    }
    if (behind.size) return; // tried again before long
    failures = 0;
    hear("onState", { trouble: "", status: 200 });
  }

  async function attempt(entry) {
    try {
      return await deliver(entry);
    } catch (error) {
      reportError(error);
      return fault(0); // the browser's store failed: nothing is known to have gone out
    }
  }

  /** False where nothing more can be sent now, "fault" where only this entry cannot. */
  async function deliver(entry) {
    const { status, body } = await request(entry);
    if (status === 200 && !isAcknowledged(entry, body)) return tryLater(0);
    if (status === 200) {
      await outbox.remove(entry);
      hear("onSaved", entry, body);
      return true;
    }
    if ([401, 403, 404].includes(status)) return askWho(entry, status, body);
    if (status === 0 || status === 408 || status === 429) return tryLater(status);
    if (status >= 500) return fault(status);
    return hold(entry, status, body);
  }

  /** What is no entry at all, or one of another version of this page, is refused like what the server refuses. */
  async function request(entry) {
    try {
      return await call("POST", ...messageOf(entry));
    } catch {
      return { status: 400, body: { code: "broken", detail: say("notReadable") } };
    }
  }

  function messageOf({ kind, unit, assignments, client_key, text, body }) {
    if (kind === "later" || kind === "back") return [addressOf(kind, unit), { assignments }];
    if (kind === "question") return [addressOf("ask", unit), { client_key, text }];
    if (kind === "time") return [seat.urls.time, { ...body, client_key }];
    const { answers, ...rest } = body;
    return [addressOf("answers", unit), { answers, ...rest, client_key, ...ask() }];
  }

  function tryLater(status) {
    failures += 1;
    const wait = Math.min(LONGEST_WAIT, 1000 * 2 ** (failures - 1)) * (0.5 + Math.random());
    clearTimeout(timer);
    timer = setTimeout(flush, wait);
    hear("onState", { trouble: status === 0 ? "offline" : "server", status });
    return false;
  }

  function fault(status) {
    tryLater(status);
    return "fault";
  }

  /** What goes wrong in telling is no reason to send no more. */
  function hear(name, ...what) {
    try {
      tell[name](...what);
    } catch (error) {
      reportError(error);
    }
  }

  /** Refused, perhaps for who we are by now: signed out, or somebody else signed in in this browser. */
  async function askWho(entry, status, body) {
    const who = await whoIsHere();
    if (who === "me") return hold(entry, status, body);
    if (who === "unknown") return tryLater(0);
    return stop(who === "other" ? "otherUser" : "signedOut", status);
  }

  function stop(why, status) {
    stopped = why;
    hear("onState", { trouble: why, status });
    return false;
  }

  /**
   * Needs a person: it waits aside and does not block what comes after it. What the server has put aside itself,
   * a place in the queue that it would not give, and time that can be corrected by hand wait for nobody.
   */
  async function hold(entry, status, body) {
    if (["later", "back", "time"].includes(entry.kind) || body?.code === "kept_aside") {
      await outbox.remove(entry, "refused");
    } else {
      entry.held = { status, code: body?.code ?? "", detail: body?.detail ?? "", current: body?.current ?? null };
      await outbox.update(entry);
    }
    hear("onHeld", entry, { status, body });
    return true;
  }

  /**
   * The page goes away: whatever waits is handed to the browser as well. Sent twice, it is stored once. Nobody is left
   * to send one answer after the other, so they go together and arrive in the order in which they were given.
   */
  function parting(entries) {
    if (stopped) return;
    const free = entries.filter((entry) => !entry.held);
    const sheets = sheetsThatFit(free.filter((entry) => entry.kind === "answers"));
    if (sheets.length) void call("POST", seat.urls.answersInOrder, { sheets }, { keepalive: true });
    for (const entry of free.filter((one) => one.kind === "time").slice(0, PARTED)) {
      void call("POST", ...messageOf(entry), { keepalive: true });
    }
  }

  /** The oldest, as many as a browser takes from a page that goes away. */
  function sheetsThatFit(answers) {
    const sheets = [];
    let room = PARTING_ROOM;
    for (const { unit, client_key, body } of [...answers].sort((a, b) => a.seq - b.seq).slice(0, PARTED)) {
      const sheet = { ...body, unit, client_key };
      room -= new Blob([JSON.stringify(sheet)]).size;
      if (room < 0) break;
      sheets.push(sheet);
    }
    return sheets;
  }

  return {
    flush,
    parting,
    retryNow: () => {
      failures = 0;
      return flush();
    },
    resume: () => {
      stopped = null;
      failures = 0;
      return flush();
    },
    stop: (why) => stop(why, 403),
    stopped: () => stopped,
  };
}

/** Our server's own word that it has this entry: a 200 of a proxy, or of a network's sign-in page, is none. */
function isAcknowledged({ kind, body: sent }, body) {
  if (kind === "question") return Boolean(body?.question);
  if (kind === "time") return body?.seconds !== undefined;
  if (kind !== "answers") return body?.queue !== undefined;
  const rows = new Set(sent.answers.map((answer) => answer.assignment));
  return Boolean(body?.saved?.some?.((row) => rows.has(row.assignment)));
}

/** One sender at a time in all tabs; where locks are missing (plain http), a note with a time on it. */
async function withLock(name, work) {
  if (navigator.locks) return navigator.locks.request(name, work);
  const lease = 30_000;
  for (;;) {
    const until = Number(localStorage.getItem(name) ?? 0);
    if (until < Date.now()) break;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  localStorage.setItem(name, String(Date.now() + lease));
  try {
    return await work();
  } finally {
    localStorage.removeItem(name);
  }
}
