// How the seat behaves in this browser: kept here, sent nowhere.

import { seat } from "./page.js";

const NAME = "assay-seat-prefs";

export const prefs = { shortcuts: true, guard: seat.settings.guard, keys: {}, ...read() };

function read() {
  try {
    return JSON.parse(localStorage.getItem(NAME)) ?? {};
  } catch {
    return {};
  }
}

export function setPrefs(changed) {
  Object.assign(prefs, changed);
  try {
    localStorage.setItem(NAME, JSON.stringify(prefs));
  } catch {
    // A browser that keeps nothing still works; the choice lasts until the page is closed.
  }
}
