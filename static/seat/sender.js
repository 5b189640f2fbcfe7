// Sends what waits in the outbox, the oldest first, one at a time in all tabs together. Whatever happens an
// entry is either acknowledged and removed, or kept.

import { call, whoIsHere } from "./api.js";
import * as outbox from "./outbox.js";
import { addressOf } from "./page.js";

const LONGEST_WAIT = 30_000;

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
      await withLock(`assay-send-${owner.user}-${owner.campaign}`, sendAll);
    } finally {
      busy = false;
    }
    if (again) {
      again = false;
      void flush();
    }
  }

  async function sendAll() {
    while (!stopped) {
      const entries = (await outbox.waiting(owner)).filter((entry) => !entry.held);
      if (!entries.length) {
        tell.onState({ trouble: "", status: 200 });
        return;
      }
      for (const entry of entries) {
        if (!(await deliver(entry))) return;
      }
    }
  }

  /** True where the next entry may be tried. */
  async function deliver(entry) {
    const { status, body } = await request(entry);
    if (status === 200 && !isAcknowledged(entry, body)) return tryLater(0);
    if (status === 200) {
      failures = 0;
      await outbox.remove(entry);
      tell.onSaved(entry, body);
      return true;
    }
    if ([401, 403, 404].includes(status)) return askWho(entry, status, body);
    if (status === 0 || status === 408 || status === 429 || status >= 500) return tryLater(status);
    return hold(entry, status, body);
  }

  function request(entry) {
    const { kind, unit, assignments, client_key, text } = entry;
    if (kind === "later" || kind === "back") return call("POST", addressOf(kind, unit), { assignments });
    if (kind === "question") return call("POST", addressOf("ask", unit), { client_key, text });
    return call("POST", addressOf("answers", entry.unit), { ...entry.body, client_key: entry.client_key, ...ask() });
  }

  function tryLater(status) {
    failures += 1;
    const wait = Math.min(LONGEST_WAIT, 1000 * 2 ** (failures - 1)) * (0.5 + Math.random());
    timer = setTimeout(flush, wait);
    tell.onState({ trouble: status === 0 ? "offline" : "server", status });
    return false;
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
    tell.onState({ trouble: why, status });
    return false;
  }

  /**
   * Needs a person: it waits aside and does not block what comes after it. What the server has put aside itself,
   * and a place in the queue that it would not give, wait for nobody.
   */
  async function hold(entry, status, body) {
    if (["later", "back"].includes(entry.kind) || body?.code === "kept_aside") {
      await outbox.remove(entry, "refused");
    } else {
      entry.held = { status, code: body?.code ?? "", detail: body?.detail ?? "", current: body?.current ?? null };
      await outbox.update(entry);
    }
    tell.onHeld(entry, { status, body });
    return true;
  }

  /** The page goes away: whatever waits is handed to the browser as well. Sent twice, it is stored once. */
  async function parting(entries) {
    if (stopped) return;
    for (const entry of entries.slice(0, 20)) {
      if (entry.kind === "answers" && !entry.held) {
        void call("POST", addressOf("answers", entry.unit), { ...entry.body, client_key: entry.client_key, count: 0 }, { keepalive: true });
      }
    }
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
