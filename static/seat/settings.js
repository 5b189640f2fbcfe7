// The window with all keys: which key does what, single keys off, and the guard against hasty presses.

import { setRemapping } from "./dialogs.js";
import { DEFAULT_KEYS, keyLabel, keyOf } from "./keys.js";
import { byId, say, seat } from "./page.js";
import { prefs, setPrefs } from "./prefs.js";
import { element } from "./text.js";

const FIXED = new Set(["save", "help"]);

function paint() {
  byId("shortcuts").checked = prefs.shortcuts;
  byId("guard").value = prefs.guard;
  for (const row of document.querySelectorAll(".keys [data-key]")) {
    const name = row.dataset.key;
    if (!FIXED.has(name)) row.cells[0].replaceChildren(element("kbd", "", keyLabel(keyOf(name))));
  }
  for (const button of document.querySelectorAll("[data-action] > kbd")) {
    const { action } = button.parentElement.dataset;
    if (action in DEFAULT_KEYS && !FIXED.has(action)) button.textContent = keyLabel(keyOf(action));
  }
}

function remap(row) {
  setRemapping(true);
  byId("keys-said").textContent = say("pressKey");
  const listen = (event) => {
    if (["Shift", "Control", "Alt", "Meta"].includes(event.key)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    document.removeEventListener("keydown", listen, true);
    setRemapping(false);
    byId("keys-said").textContent = event.code === "Escape" ? "" : assign(row.dataset.key, event.code);
    paint();
  };
  document.addEventListener("keydown", listen, true);
}

const FREE = /^(?:Key[A-Z]|Comma|Period|Semicolon|Quote|Bracket(?:Left|Right)|Slash|Backslash|Minus|Equal|F[2-9])$/;

/** Give an action a key that does nothing else; says so where it does. */
function assign(name, code) {
  const action = takenBy(name, code);
  if (action) return say("keyTaken", { action });
  setPrefs({ keys: { ...prefs.keys, [name]: code } });
  return "";
}

/** What a key does already, here or in another campaign: the keys are this browser's. "" where it is free. */
function takenBy(name, code) {
  const other = Object.keys(DEFAULT_KEYS).find((one) => one !== name && keyOf(one) === code);
  if (other) return document.querySelector(`.keys [data-key="${other}"]`)?.cells[1].textContent ?? keyLabel(code);
  const reason = seat.reasons.find((one) => one.key === code);
  if (reason) return say("reasonKey", { reason: reason.word });
  return FREE.test(code) && code !== "KeyZ" ? "" : keyLabel(code);
}

export function begin() {
  for (const row of document.querySelectorAll(".keys [data-key]")) {
    if (FIXED.has(row.dataset.key)) continue;
    const button = byId("remap-template").content.firstElementChild.cloneNode(true);
    button.setAttribute("aria-label", `${button.textContent}: ${row.cells[1].textContent}`);
    button.addEventListener("click", () => remap(row));
    row.cells[2].append(button);
  }
  byId("shortcuts").addEventListener("change", (event) => setPrefs({ shortcuts: event.target.checked }));
  byId("guard").addEventListener("change", (event) => {
    const value = Math.min(2000, Math.max(0, Number(event.target.value) || 0));
    setPrefs({ guard: value });
    paint();
  });
  byId("reset-keys").addEventListener("click", () => {
    setPrefs({ keys: {} });
    paint();
  });
  paint();
}
