// The screen on the page. `paint` shows a new one, the others show what changed on it; nothing here decides.

import { keyLabel } from "./keys.js";
import { byId, isCompound, say, seat } from "./page.js";
import { blanks, isBlank, isSideBySide, stepAt, stepFrom } from "./sheet.js";
import { chips, divided, element, formsMarked, marked, put, reveal, revealIn } from "./text.js";

const heading = byId("unit");
const desk = byId("sheet");
const rowList = byId("rows");
const contextHead = byId("context-head");
const save = byId("save");
const slotsOf = new Map(); // a context's element → its named places, looked up once
let shown = { from: 0, to: 0 }; // the step on the page
let exact = false;
let wordStarts = {}; // of the screen on the page, by assignment; empty where no marks are wanted

export const hasDesk = () => desk !== null;

/** Show a whole screen. `closed` says why it can only be looked at; `goesOn`, that something is open beside it. */
export function paint(sheet, { correcting, closed, goesOn }) {
  desk.hidden = false;
  wordStarts = {};
  byId("nothing-left").hidden = true;
  desk.dataset.position = sheet.screen.position;
  desk.classList.toggle("is-correction", correcting && !closed);
  byId("correction").hidden = !correcting || Boolean(closed);
  byId("leave").hidden = !correcting || (Boolean(closed) && !goesOn);
  byId("leave").querySelector(".word").textContent = say(closed ? "goOn" : "leave");
  paintClosed(closed);
  if (isCompound) paintCompound(sheet);
  else paintTriple(sheet);
  paintAnswers(sheet, correcting);
  window.scrollTo(0, 0);
  heading.focus({ preventScroll: true });
}

/** Above what can only be looked at stands why, and what would change it is away; who tries an answer is told. */
function paintClosed(closed) {
  desk.classList.toggle("is-closed", Boolean(closed));
  for (const node of desk.querySelectorAll(".answer, .verdicts")) node.disabled = false;
  byId("closed").hidden = !closed;
  if (!closed) return;
  byId("closed").querySelector(".title").textContent = closed.title;
  byId("closed").querySelector(".rest").textContent = closed.rest;
}

/** Show another step of the same screen; a reader goes on with its context. */
export function paintStep(sheet, { correcting }) {
  paintRows(sheet);
  paintAnswers(sheet, correcting);
  window.scrollTo(0, 0);
  contextHead.focus({ preventScroll: true });
}

function paintAnswers(sheet, correcting) {
  if (isCompound) for (const index of rowsShown()) paintRow(sheet, index);
  else paintRow(sheet, 0);
  paintFocus(sheet);
  paintSave(sheet, correcting);
  showReference(sheet, seat.settings.reference === "shown");
}

function paintCompound(sheet) {
  const { atoms, compound } = sheet.screen;
  put(heading, atoms.length ? atoms.flatMap(([, text]) => [element("span", "atom", text), " "]) : [compound]);
  paintRows(sheet);
}

function paintRows(sheet) {
  const { atoms } = sheet.screen;
  shown = stepAt(sheet);
  for (const node of rowList.querySelectorAll(".context-shared")) node.remove(); // of the page without a script
  while (rowList.children.length > shown.to - shown.from) rowList.lastElementChild.remove();
  while (rowList.children.length < shown.to - shown.from) {
    rowList.append(byId("context-template").content.cloneNode(true));
  }
  rowList.classList.toggle("side-by-side", isSideBySide(sheet.screen));
  paintContext(sheet);
  for (const index of rowsShown()) {
    const slots = slotsFor(index);
    slots.node.classList.remove("form-only");
    slots.kbd.textContent = index - shown.from < 9 ? index - shown.from + 1 : "";
    slots.number.textContent = index - shown.from + 1;
    paintTexts(slots, sheet.screen.rows[index], atoms);
    put(slots.atoms, atoms.map(([, text], atom) => atomToggle(text, atom)));
    for (const radio of slots.radios) radio.name = `label-${sheet.screen.rows[index].assignment}`;
  }
}

/** The rows on the page, by their place in the sheet. */
const rowsShown = () => Array.from({ length: shown.to - shown.from }, (_gap, place) => shown.from + place);

/** The row of the sheet that this node, or what is in it, belongs to; -1 where there is none. */
export function rowOf(node) {
  const place = [...rowList.children].indexOf(node.closest("[data-row]"));
  return place < 0 ? -1 : shown.from + place;
}

/** Side by side, what the rows on the page have in common stands above them. */
function paintContext(sheet) {
  contextHead.hidden = !isSideBySide(sheet.screen);
  if (contextHead.hidden) return;
  const { context, first, end, from, to } = shown;
  const values = { n: context, of: sheet.steps.at(-1).context, from: from - first + 1, to: to - first, all: end - first };
  byId("step").textContent = say(end - first > to - from ? "contextPart" : "context", values);
  const row = sheet.screen.rows[from];
  const source = marked(row.source, row.span);
  put(byId("context-source"), exact ? revealIn(source) : source);
  put(byId("context-reference"), [row.reference ?? ""]);
  for (const [name, by] of [["stepBack", -1], ["stepOn", 1]]) {
    contextHead.querySelector(`[data-action=${name}]`).disabled = !stepFrom(sheet, by);
  }
}

function paintTexts(slots, row, atoms) {
  const source = marked(row.source, row.span);
  put(slots.source, exact ? revealIn(source) : source);
  const starts = wordStarts[row.assignment];
  if (exact) put(slots.translation, reveal(row.raw, { signs: true }));
  else if (starts) put(slots.translation, divided(row.translation, starts));
  else put(slots.translation, seat.highlight ? formsMarked(row.translation, atoms, seat.highlight) : [row.translation]);
  put(slots.reference, [row.reference ?? ""]);
}

function atomToggle(text, atom) {
  const node = element("button", "toggle", text);
  node.type = "button";
  node.dataset.atom = atom;
  return node;
}

function slotsFor(index) {
  const node = rowList.children[index - shown.from];
  let slots = slotsOf.get(node);
  if (!slots) {
    slots = { node, kbd: node.querySelector(".context-number kbd"), radios: [...node.querySelectorAll("input[type=radio]")] };
    for (const slot of node.querySelectorAll("[data-slot]")) slots[slot.dataset.slot] = slot;
    node.querySelector(".form-extra")?.remove();
    slots.reasonButtons = [...slots.reasons.children];
    for (const radio of slots.radios) radio.tabIndex = -1;
    node.tabIndex = -1;
    slotsOf.set(node, slots);
  }
  return slots;
}

function paintTriple(sheet) {
  const [row] = sheet.screen.rows;
  const slot = (name) => desk.querySelector(`[data-slot=${name}]`);
  for (const name of ["head", "tail"]) {
    const pieces = chips(row[name]);
    put(slot(name), exact ? revealIn(pieces) : pieces);
  }
  put(slot("connector"), chips(seat.connectors[row.relation]?.text ?? row.relation));
  slot("relation").textContent = row.relation;
  slot("unlike").textContent = seat.connectors[row.relation]?.unlike ?? "";
}

/** Show one row's answer and what belongs to it. */
export function paintRow(sheet, index) {
  const row = sheet.rows[index];
  if (!isCompound) {
    for (const button of desk.querySelectorAll("[data-answer]")) {
      const on = button.dataset.answer === row.label && (!button.dataset.detail || button.dataset.detail === row.detail);
      button.setAttribute("aria-pressed", on);
    }
    put(desk.querySelector("[data-slot=marks]"), marks(row));
    return;
  }
  const slots = slotsFor(index);
  const value = row.cannot_judge ? "cannot_judge" : row.label;
  for (const radio of slots.radios) radio.checked = radio.value === value;
  slots.node.dataset.answer = value ?? "";
  put(slots.marks, marks(row));
  paintWhy(sheet, index);
}

function paintWhy(sheet, index) {
  const row = sheet.rows[index];
  const slots = slotsFor(index);
  const focused = index === sheet.focus;
  const shown = row.label === "wrong" && seat.settings.reasons !== "off" && (focused || row.reasons.length + row.atoms.length > 0);
  slots.why.hidden = !shown;
  if (!shown) return;
  for (const [place, button] of slots.reasonButtons.entries()) {
    const { code, key } = seat.reasons[place];
    button.setAttribute("aria-pressed", row.reasons.includes(code));
    button.lastElementChild.textContent = focused ? keyLabel(key) : "";
    button.lastElementChild.hidden = !focused;
  }
  for (const [atom, button] of [...slots.atoms.children].entries()) {
    button.setAttribute("aria-pressed", row.atoms.includes(atom));
  }
}

function marks(row) {
  const found = [];
  const word = (code) => seat.causes.find((cause) => cause.code === code)?.word ?? code;
  if (row.cannot_judge) found.push(element("span", "mark cannot", `? ${say("cannotJudge")}: ${word(row.cannot_judge)}`));
  if (row.problem) found.push(element("span", "mark cannot", `! ${say("problem", { cause: word(row.problem) })}`));
  if (row.flag) found.push(element("span", "mark unsure", `≈ ${say("unsure")}`));
  if (row.note) found.push(element("span", "mark note", `✎ ${say("note", { note: row.note })}`));
  return found;
}

export function paintFocus(sheet) {
  if (!isCompound) return;
  for (const index of rowsShown()) {
    const { node } = slotsFor(index);
    if (index === sheet.focus) node.setAttribute("aria-current", "true");
    else node.removeAttribute("aria-current");
    paintWhy(sheet, index);
  }
}

/** Move the cursor's row into view, and a reader's attention to it. */
export function focusRow(sheet) {
  const { node } = slotsFor(sheet.focus);
  node.focus({ preventScroll: true });
  node.scrollIntoView({ block: "nearest" });
}

export function paintSave(sheet, correcting) {
  if (!isCompound) {
    save.hidden = !correcting;
    return;
  }
  const next = correcting ? undefined : stepFrom(sheet, 1);
  const left = blanks(sheet, next && shown).length;
  const goesOn = next && (next.context === shown.context ? "nextRows" : "nextContext");
  save.querySelector(".word").textContent = say(goesOn ?? (correcting ? "saveCorrection" : "save"));
  save.querySelector(".left").textContent = left ? `· ${say("saveLeft", { n: left })}` : "";
  save.classList.toggle("not-yet", left > 0);
}

/** Show or hide the references; true where there was one to see. */
export function showReference(sheet, on) {
  if (!isCompound) return false;
  let seen = false;
  for (const index of rowsShown()) {
    const there = on && Boolean(sheet.screen.rows[index].reference);
    slotsFor(index).reference.hidden = !there;
    seen ||= there;
  }
  byId("context-reference").hidden = !seen;
  document.querySelector("[data-action=reference]")?.setAttribute("aria-pressed", on);
  return seen;
}

export function toggleExact(sheet) {
  exact = !exact;
  document.querySelector("[data-action=exact]")?.setAttribute("aria-pressed", exact);
  desk.classList.toggle("is-exact", exact);
  if (isCompound) {
    paintContext(sheet);
    for (const index of rowsShown()) paintTexts(slotsFor(index), sheet.screen.rows[index], sheet.screen.atoms);
  } else {
    paintTriple(sheet);
  }
}

/** Mark where words begin, or with nothing given take the marks away. The exact text stays without. */
export function markWords(sheet, starts) {
  wordStarts = starts;
  for (const index of rowsShown()) paintTexts(slotsFor(index), sheet.screen.rows[index], sheet.screen.atoms);
}

/** Long texts scroll in their box; such a box can be reached with the keyboard. After painting, never before. */
export function reachLongTexts() {
  for (const node of desk.querySelectorAll(".source, .translation, .reference, .head, .tail")) {
    if (node.scrollHeight > node.clientHeight + 1) node.tabIndex = 0;
    else node.removeAttribute("tabindex");
  }
}

export function paintNothing() {
  desk.hidden = true;
  byId("nothing-left").hidden = false;
  byId("nothing-left").focus({ preventScroll: true });
}

/** What a row says in one word, for lines and announcements. */
export function answerWord(row) {
  if (row.cannot_judge) return say("cannotJudge");
  if (isBlank(row)) return say("blank");
  const detail = seat.details.find((one) => one.code === row.detail);
  return detail ? detail.word : seat.answers[row.label];
}
