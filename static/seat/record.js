// What was answered, the latest last: from this visit, and the last fifty of before. Also counts the session.

import { call } from "./api.js";
import { addressOf, seat, uuid } from "./page.js";

export const LENGTH = 50;
let judged = [];
let asked = null;

export function begin(recent) {
  judged = [...recent].reverse();
}

/** The last fifty from before this visit, once, when there is time. */
export function older() {
  asked ??= call("GET", `${seat.urls.recent}?count=${LENGTH}`).then(({ status, body }) => {
    if (status !== 200) {
      asked = null;
      return;
    }
    const known = new Set(judged.map((screen) => screen.position));
    judged = [...body.units.filter((screen) => !known.has(screen.position)).reverse(), ...judged];
  });
  return asked;
}

/** A new answer, or a correction in the place of the old one. */
export function add(screen) {
  const place = judged.findIndex((one) => one.position === screen.position);
  if (place < 0) judged.push(screen);
  else judged[place] = screen;
}

/** An answer that was discarded is none. */
export function forget(position) {
  judged = judged.filter((screen) => screen.position !== position);
}

/** The answer before the one at `position`; the last one where no position is given. */
export async function before(position) {
  const place = position === null ? judged.length : judged.findIndex((screen) => screen.position === position);
  if (place > 0) return judged[place - 1];
  await older();
  const again = position === null ? judged.length : judged.findIndex((screen) => screen.position === position);
  return again > 0 ? judged[again - 1] : null;
}

export async function at(position) {
  const mine = judged.find((screen) => screen.position === position);
  if (mine) return mine;
  const { status, body } = await call("GET", addressOf("screen", position));
  return status === 200 && body.rows.every((row) => row.answer) ? body : null;
}

export const known = (position) => judged.find((screen) => screen.position === position) ?? null;

/** The latest first, as many as the list shows. */
export async function latest() {
  await Promise.race([older(), new Promise((resolve) => setTimeout(resolve, 1500))]);
  return judged.slice(-LENGTH).reverse();
}

/** A session is one tab's visit; the position counts what was saved in it. */
export function place() {
  const session = read("assay-session") || uuid();
  const position = Number(read("assay-session-position") || 0) + 1;
  try {
    sessionStorage.setItem("assay-session", session);
    sessionStorage.setItem("assay-session-position", String(position));
  } catch {
    // Nothing may be kept: every answer is then a session of its own.
  }
  return { session, session_position: position };
}

function read(name) {
  try {
    return sessionStorage.getItem(name);
  } catch {
    return null;
  }
}
