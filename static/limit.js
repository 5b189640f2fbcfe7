// How long a text may be is counted in code points, as the server counts; maxlength would count a rare character
// twice. For every box with data-limit. Nothing is cut while an input method composes.

for (const box of document.querySelectorAll("[data-limit]")) {
  const cut = () => {
    const points = Array.from(box.value);
    const limit = Number(box.dataset.limit);
    if (points.length > limit) box.value = points.slice(0, limit).join("");
  };
  box.addEventListener("input", (event) => {
    if (!event.isComposing) cut();
  });
  box.addEventListener("compositionend", cut);
}
