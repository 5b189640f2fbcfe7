// The screens ahead: held in memory, so that the next one is painted without asking anybody.

import { call, whoIsHere } from "./api.js";
import { seat } from "./page.js";

const done = new Set(); // positions answered here or in another tab: a late reply must not bring them back
let held = [];
let displayed = null;
let asking = null;

const byQueue = (a, b) => a.queue - b.queue;

export function add(screens) {
  const known = new Set(held.map((screen) => screen.position));
  if (displayed) known.add(displayed.position);
  const fresh = screens.filter((screen) => !done.has(screen.position) && !known.has(screen.position));
  if (fresh.length) held = [...held, ...fresh].sort(byQueue);
  return fresh.length;
}

/** The next screen, taken out of what is held; null where none is. */
export function take() {
  displayed = held.shift() ?? null;
  return displayed;
}

/** Say which screen is before the expert, so that it is not handed out again. */
export function show(screen) {
  displayed = screen;
  held = held.filter((one) => one.position !== screen?.position);
}

export function finish(position) {
  done.add(position);
  held = held.filter((screen) => screen.position !== position);
}

/** Its answer was discarded: it may be handed out again. */
export function reopen(position) {
  done.delete(position);
}

export const isFinished = (position) => done.has(position);

/** Put a screen behind the others of its part; where the end of the part is not here yet, it comes later anyway. */
export function putOff(screen) {
  const lastOfPart = held.filter((one) => one.part === screen.part).at(-1);
  const beyond = held.some((one) => one.queue > (lastOfPart?.queue ?? 0) && one.part !== screen.part);
  displayed = null;
  if (lastOfPart && !beyond && held.length >= seat.settings.held) return;
  const queue = (lastOfPart?.queue ?? screen.queue) + 0.5;
  held = [...held, { ...screen, queue, postponed: true }].sort(byQueue);
}

/** The opposite: before the expert again; what was there comes next. */
export function bringBack(screen) {
  const others = displayed && displayed.position !== screen.position ? [displayed, ...held] : held;
  held = others.filter((one) => one.position !== screen.position).sort(byQueue);
  displayed = screen;
}

/** What to fetch along with a save: as many as are missing, behind the last one held. */
export function wanted() {
  const missing = Math.max(0, seat.settings.held - held.length);
  const last = held.at(-1)?.queue ?? displayed?.queue;
  return { after: last === undefined ? null : Math.floor(last), count: Math.min(missing, 50) };
}

export const count = () => held.length;

/** Ask the server for everything still open; also finds what was put off elsewhere. */
export function refill() {
  asking ??= ask(seat.settings.held).finally(() => {
    asking = null;
  });
  return asking;
}

/** Ask only how far everything is. */
export const standing = () => ask(0);

/** Another person's screens are not for this page. */
async function ask(count) {
  const answer = await call("GET", `${seat.urls.next}?count=${count}`);
  return answer.status === 200 && (await whoIsHere()) !== "me" ? { status: 401, body: null } : answer;
}
