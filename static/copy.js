// Copy buttons. Without a script, or where the browser forbids it (plain http), the text is selected instead.
"use strict";

for (const button of document.querySelectorAll("[data-copy]")) {
  const input = document.getElementById(button.dataset.copy);
  const said = button.parentElement.querySelector("[role=status]");
  input.addEventListener("focus", () => input.select());
  button.hidden = !navigator.clipboard;
  button.addEventListener("click", async () => {
    input.select();
    await navigator.clipboard.writeText(input.value);
    said.textContent = button.dataset.done;
  });
}
