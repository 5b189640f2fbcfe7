// How far each part is: what the server counted last, and the positions answered since, each of them once.

import { seat } from "./page.js";

const counted = new Set(); // positions that the server's figures hold, as far as they were answered since
const stored = new Set(); // positions of which the server said that it has them
const since = new Map(); // part → positions answered since the server counted
let { parts } = seat.progress; // the server's figures
let doubtful = false;

export const partOf = (index) => parts.find((one) => one.index === index);

const judged = (part) => part.done + (since.get(part.index)?.size ?? 0);

/** How many of a part are judged: never more than there are. */
export const doneOf = (part) => Math.min(judged(part), part.total);

/** Where more were judged than the server told of, it has to be asked first. */
export const isDone = (index) => parts.some((part) => part.index === index && judged(part) === part.total);

/** Whether the server should be asked anew: work came or went, or answers waited before this page was opened. */
export const isDoubtful = () => doubtful;

export function doubt() {
  doubtful = true;
}

/**
 * Begin with answers of an earlier visit, or of another tab, that still wait. The server's figures hold those whose
 * screens it no longer lists as open.
 */
export function begin(entries) {
  const listed = [seat.shown, ...seat.screens].filter((screen) => screen?.rows.some((row) => !row.answer));
  const open = new Set(listed.map((screen) => screen.position));
  for (const entry of entries) {
    if (!open.has(entry.position)) counted.add(entry.position);
    follow({ kind: "added", entry });
  }
  if (entries.length) doubt();
}

/** A screen was answered, here or in another tab. */
export function answered(position, index) {
  if (counted.has(position)) return;
  if (!since.has(index)) since.set(index, new Set());
  since.get(index).add(position);
  const part = partOf(index);
  if (!part || judged(part) > part.total) doubt();
}

function takeBack(position, index) {
  if (!stored.has(position)) since.get(index)?.delete(position);
}

/** What became of a first answer on its way; what is refused counts no more until it is tried again. */
export function follow({ kind, entry, why }) {
  const { position, judged: index, held } = entry;
  if (why === "done" && !since.get(index)?.has(position)) doubt(); // sent while this page was being opened
  if (why === "done") stored.add(position);
  if (kind === "removed" && why !== "done") doubt();
  if (why === "refused" || (held && held.code !== "stale")) takeBack(position, index);
  else answered(position, index);
}

/** The server's figures anew, read while nothing was under way: they hold all that was answered until now. */
export function read(standing) {
  for (const positions of since.values()) for (const position of positions) counted.add(position);
  since.clear();
  parts = standing.parts;
  doubtful = false;
}
