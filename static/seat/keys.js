// From a key press to the name of an action, by the place of the key: NumLock, full-width forms and layouts
// do not matter. Never with Ctrl, Alt or Meta; never in a text box; never while an input method composes.

import { prefs } from "./prefs.js";

export const DEFAULT_KEYS = {
  rest: "KeyA",
  cannot: "KeyX",
  unsure: "KeyF",
  later: "KeyS",
  note: "KeyN",
  reference: "KeyR",
  exact: "KeyW",
  words: "KeyB",
  ask: "KeyQ",
  guidelines: "KeyG",
  define: "KeyI",
  history: "KeyH",
  back: "KeyU",
  search: "Slash",
  save: "Enter",
  help: "F1",
};

const ALWAYS = {
  NumpadEnter: "save",
  Space: "save",
  KeyZ: "back",
  NumpadSubtract: "back",
  Numpad0: "rest",
  Backspace: "clear",
  Escape: "leave",
  ArrowUp: "up",
  ArrowDown: "down",
};

// With single keys switched off these still act: they are no letters, digits or signs (WCAG 2.1.4).
const NO_CHARACTER = new Set(["leave", "up", "down"]);

export function actionOf(event) {
  if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return null;
  const found = named(event);
  if (!found || (!prefs.shortcuts && !NO_CHARACTER.has(found.name))) return null;
  return found;
}

function named(event) {
  const { code } = event;
  const digit = /^(?:Digit|Numpad)([1-9])$/.exec(code);
  if (digit) return { name: event.shiftKey && code.startsWith("Digit") ? "atom" : "digit", number: Number(digit[1]) };
  if (event.key === "?") return { name: "help" };
  if (event.shiftKey) return null;
  const mine = Object.keys(DEFAULT_KEYS).find((name) => keyOf(name) === code);
  if (mine) return { name: mine };
  if (event.key === "/") return { name: "search" };
  const fixed = ALWAYS[code];
  return fixed ? { name: fixed } : { name: "other", code };
}

export const keyOf = (name) => prefs.keys[name] ?? DEFAULT_KEYS[name];

/** A key as it is printed on the page. */
export function keyLabel(code) {
  const plain = { Slash: "/", Enter: "Enter", NumpadSubtract: "−", Space: "␣" };
  return plain[code] ?? code.replace(/^(Key|Digit)/, "").toLowerCase();
}

export function inTextBox(target) {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target.tagName === "TEXTAREA" || target.tagName === "SELECT") return true;
  return target.tagName === "INPUT" && !["radio", "checkbox", "button", "submit"].includes(target.type);
}
