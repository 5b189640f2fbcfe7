// Time at one unit, three ways: on the wall, while the page could be seen, and while somebody was there
// (something was pressed, moved or scrolled within the last half minute). Only sums are kept.

import { seat } from "./page.js";

const AWAY = 30_000;
const REST = seat.settings.restMinutes * 60_000;

let lastSign = performance.now();
let running = null;
let aside = null; // what is read in a window: while it runs, the unit's clock stands still
let activeInAll = 0;
let restDue = REST;

/** A clock, going on from what was kept under this name. */
export function startClock(name) {
  return { wall: 0, visible: 0, active: 0, ...kept[name] };
}

/** Let this clock run; the one before it stops. */
export function run(clock) {
  tick();
  running = clock;
}

/** No clock runs; gives the one that did. */
export function stop() {
  tick();
  const stopped = running;
  running = null;
  return stopped;
}

/** Something is read in a window over the unit. */
export function startAside() {
  tick();
  aside ??= startClock("");
}

/** It is closed; gives the seconds it was in sight, null where nothing was read. */
export function stopAside() {
  tick();
  const stopped = aside;
  aside = null;
  return stopped && seconds(stopped.visible);
}

// Sums of screens that are not done, by a name for each: kept in this browser at once, which a page that goes away
// needs, and without a word of the items.
const STORE = `assay-seat-clocks ${seat.user.id} ${seat.campaign}`;
const KEPT = 100; // the latest
const kept = stored();

function stored() {
  try {
    return JSON.parse(localStorage.getItem(STORE)) ?? {};
  } catch {
    return {};
  }
}

function store(change) {
  change(kept);
  const all = stored(); // another tab's, too
  change(all);
  try {
    localStorage.setItem(STORE, JSON.stringify(Object.fromEntries(Object.entries(all).slice(-KEPT))));
  } catch {
    // A browser that keeps nothing: the time is lost with the page.
  }
}

/** Keep what a clock counted so far, until `forget`. */
export function keep(name, clock) {
  if (clock === running) tick();
  store((all) => {
    delete all[name];
    all[name] = { ...clock };
  });
}

export function forget(name) {
  if (name in kept) store((all) => delete all[name]);
}

export function reading(clock) {
  if (clock === running) tick();
  return {
    seconds: seconds(clock.wall),
    visible_seconds: seconds(clock.visible),
    active_seconds: seconds(clock.active),
  };
}

/** True once for every fifty active minutes. */
export function restIsDue() {
  if (activeInAll < restDue) return false;
  restDue = activeInAll + REST;
  return true;
}

let since = performance.now();
let wasVisible = document.visibilityState === "visible";

function tick() {
  const now = performance.now();
  const counted = aside ?? running;
  if (counted) {
    const passed = now - since;
    const active = wasVisible ? Math.max(0, Math.min(now, lastSign + AWAY) - since) : 0;
    counted.wall += passed;
    counted.visible += wasVisible ? passed : 0;
    counted.active += active;
    activeInAll += active;
  }
  since = now;
}

function sign() {
  const now = performance.now();
  if (now - lastSign > 1000) tick();
  lastSign = now;
}

const seconds = (milliseconds) => Math.round(milliseconds) / 1000;

document.addEventListener("visibilitychange", () => {
  tick();
  wasVisible = document.visibilityState === "visible";
});
for (const kind of ["keydown", "pointerdown", "pointermove", "wheel", "touchmove"]) {
  document.addEventListener(kind, sign, { passive: true, capture: true });
}
