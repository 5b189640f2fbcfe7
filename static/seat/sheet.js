// One screen and what is being answered on it. Plain data and rules: no page, no network, no clock.

const BLANK = {
  label: null,
  cannot_judge: null,
  problem: null,
  detail: null,
  reasons: [],
  atoms: [],
  note: "",
  flag: false,
};

const FIELDS = Object.keys(BLANK);
const AT_ONCE = 9; // rows that have a digit each

/** A screen with its answers; where all are given, its first step comes before the expert, or its last. */
export function openSheet(screen, { atLast = false } = {}) {
  const rows = screen.rows.map((row) => ({ ...BLANK, ...row.answer }));
  const steps = stepsOf(screen);
  const first = rows.findIndex(isBlank);
  const focus = first < 0 ? (atLast ? steps.at(-1).from : 0) : first;
  return { screen, steps, rows, focus, marked: [], referenceSeen: false };
}

export const isSideBySide = (screen) => screen.rows[0]?.context !== undefined;

/** What is before the expert at a time: all rows; side by side those of one context, no more than there are digits. */
function stepsOf({ rows }) {
  if (rows[0]?.context === undefined) return [{ from: 0, to: rows.length }];
  const steps = [];
  for (let from = 0; from < rows.length; ) {
    const { context } = rows[from];
    const after = rows.findIndex((row, index) => index > from && row.context !== context);
    const end = after < 0 ? rows.length : after;
    for (let at = from; at < end; at += AT_ONCE) steps.push({ context, first: from, end, from: at, to: Math.min(at + AT_ONCE, end) });
    from = end;
  }
  return steps;
}

/** The step in which the cursor stands. */
export const stepAt = (sheet) => sheet.steps.find((step) => sheet.focus < step.to);

/** The step so many further on; undefined where there is none. */
export const stepFrom = (sheet, by) => sheet.steps[sheet.steps.indexOf(stepAt(sheet)) + by];

/** What a row is called in lines about a whole screen: side by side its context comes first. */
export function rowName({ rows }, index) {
  const { context } = rows[index];
  if (context === undefined) return String(index + 1);
  return `${context}.${index + 1 - rows.findIndex((row) => row.context === context)}`;
}

export function isBlank(row) {
  return !row.label && !row.cannot_judge;
}

/** The rows without an answer, of one step or of all. */
export function blanks(sheet, { from, to } = { from: 0, to: sheet.rows.length }) {
  return sheet.rows.flatMap((row, index) => (isBlank(row) && index >= from && index < to ? [index] : []));
}

export function isTouched(sheet) {
  return sheet.rows.some((row, index) => differs(row, sheet.screen.rows[index].answer));
}

/** The first press says wrong, the second correct, then they alternate. */
export function press(sheet, index) {
  choose(sheet, index, sheet.rows[index].label === "wrong" ? "correct" : "wrong");
}

export function choose(sheet, index, label, detail = null) {
  const row = sheet.rows[index];
  row.label = label;
  row.detail = detail;
  row.cannot_judge = null;
  if (label !== "wrong") forgetWhy(row);
  settle(sheet, index);
}

export function cannotJudge(sheet, index, cause) {
  const row = sheet.rows[index];
  row.cannot_judge = cause;
  row.label = null;
  forgetWhy(row);
  settle(sheet, index);
}

export function clear(sheet, index) {
  const row = sheet.rows[index];
  row.label = row.detail = row.cannot_judge = null;
  forgetWhy(row);
  settle(sheet, index);
}

/**
 * Blank rows of the step become correct; where none is blank, those that became so are blank again. Returns the rows
 * changed, and which way.
 */
export function markRest(sheet) {
  const step = stepAt(sheet);
  const rows = blanks(sheet, step);
  if (rows.length) {
    for (const index of rows) sheet.rows[index].label = "correct";
    sheet.marked = [...sheet.marked, ...rows];
    return { rows, undone: false };
  }
  const undone = sheet.marked.filter((index) => index >= step.from && index < step.to);
  for (const index of undone) sheet.rows[index].label = null;
  sheet.marked = sheet.marked.filter((index) => !undone.includes(index));
  return { rows: undone, undone: true };
}

/** How many rows of a compound are answered by that key or its button, and not changed since. */
export const answeredByRest = (sheet) => sheet.marked.length;

export function toggleIn(row, name, value) {
  row[name] = row[name].includes(value) ? row[name].filter((one) => one !== value) : [...row[name], value];
  row[name].sort();
}

/** The rows to send: those whose answer is new or differs from what is stored. */
export function changes(sheet) {
  return sheet.rows.flatMap((row, index) => {
    const { assignment, revision, answer } = sheet.screen.rows[index];
    if (isBlank(row) || (answer && !differs(row, answer))) return [];
    return [{ assignment, revision, ...row }];
  });
}

/** The screen as it will stand once `answers` are acknowledged. */
export function withAnswers(screen, answers) {
  const given = new Map(answers.map((answer) => [answer.assignment, answer]));
  const rows = screen.rows.map((row) => {
    const answer = given.get(row.assignment);
    if (!answer) return row;
    const kept = Object.fromEntries(FIELDS.map((field) => [field, answer[field]]));
    return { ...row, revision: answer.revision + 1, answer: kept };
  });
  return { ...screen, rows, postponed: false };
}

export function snapshot(sheet) {
  return { rows: sheet.rows, focus: sheet.focus, marked: sheet.marked, referenceSeen: sheet.referenceSeen };
}

export function restore(sheet, kept) {
  if (kept.rows?.length !== sheet.rows.length) return;
  Object.assign(sheet, kept);
}

function forgetWhy(row) {
  row.reasons = [];
  row.atoms = [];
}

function settle(sheet, index) {
  sheet.marked = sheet.marked.filter((one) => one !== index);
}

function differs(row, answer) {
  const stored = { ...BLANK, ...answer };
  return FIELDS.some((field) => JSON.stringify(row[field]) !== JSON.stringify(stored[field]));
}
