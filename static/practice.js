// Practice by keys, as at the seat: a digit answers, a marks the rest correct, Enter goes on. Without it the buttons
// do the same.

const form = document.getElementById("practice");
const contexts = document.querySelectorAll(".contexts .context");
const buttons = document.querySelectorAll(".answers .answer");

/** First press wrong, second correct, then alternating. */
function toggle(context) {
  const [wrong, correct] = context.querySelectorAll("input");
  const next = wrong.checked ? correct : wrong;
  next.checked = true;
  next.focus();
  settle();
}

const verdicts = [...contexts].map((context) => [...context.querySelectorAll("input")]).filter((pair) => pair.length);
const blanks = () => verdicts.filter((pair) => !pair.some((input) => input.checked));
let marked = [];

/** Blank rows become correct; a second press undoes exactly that. */
function markRest() {
  const undone = marked;
  marked = undone.length ? [] : blanks().map(([, correct]) => correct);
  for (const input of [...undone, ...marked]) input.checked = !undone.length;
  sayBlanks();
}

/** What is missing is said until it is there. */
function sayBlanks() {
  const cue = document.getElementById("cue");
  if (cue?.textContent && !blanks().length) cue.textContent = "";
}

function onSubmit(event) {
  const [first] = blanks();
  if (!first) return;
  event.preventDefault();
  const cue = document.getElementById("cue");
  cue.textContent = cue.dataset.blanks;
  first[0].focus();
}

function onKey(event) {
  if (event.ctrlKey || event.altKey || event.metaKey || event.repeat || event.isComposing) return;
  const digit = /^(?:Digit|Numpad)([1-9])$/.exec(event.code);
  if (digit) {
    const number = Number(digit[1]) - 1;
    if (buttons[number]) buttons[number].click();
    else if (contexts[number]?.querySelector("input")) toggle(contexts[number]);
  } else if (["KeyA", "Numpad0"].includes(event.code) && !event.shiftKey && verdicts.length) {
    markRest();
  } else if (event.code === "Enter" || event.code === "NumpadEnter") {
    if (event.target.closest("a, button")) return; // they have their own Enter
    event.preventDefault();
    form.querySelector("button[name=action]")?.click();
  }
}

/** A verdict of the person's own: there is nothing to take back any more. */
function settle() {
  marked = [];
  sayBlanks();
}

document.addEventListener("keydown", onKey);
if (verdicts.length) {
  const rest = document.getElementById("rest");
  rest.hidden = false;
  rest.addEventListener("click", () => {
    markRest();
    form.querySelector("button[name=action]").focus(); // so that Enter checks
  });
  form.noValidate = true; // the browser's own word vanishes after a moment
  form.addEventListener("submit", onSubmit);
  form.addEventListener("change", settle);
}
