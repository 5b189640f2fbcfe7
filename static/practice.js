// Practice by keys, as at the seat: a digit answers, Enter goes on. Without it the buttons do the same.

const form = document.getElementById("practice");
const contexts = document.querySelectorAll(".contexts .context");
const buttons = document.querySelectorAll(".answers .answer");

/** First press wrong, second correct, then alternating. */
function toggle(context) {
  const [wrong, correct] = context.querySelectorAll("input");
  const next = wrong.checked ? correct : wrong;
  next.checked = true;
  next.focus();
}

function onKey(event) {
  if (event.ctrlKey || event.altKey || event.metaKey || event.repeat || event.isComposing) return;
  const digit = /^(?:Digit|Numpad)([1-9])$/.exec(event.code);
  if (digit) {
    const number = Number(digit[1]) - 1;
    if (buttons[number]) buttons[number].click();
    else if (contexts[number]?.querySelector("input")) toggle(contexts[number]);
  } else if (event.code === "Enter" || event.code === "NumpadEnter") {
    if (event.target.closest("a, button")) return; // they have their own Enter
    event.preventDefault();
    form.querySelector("button[name=action]")?.click();
  }
}

document.addEventListener("keydown", onKey);
