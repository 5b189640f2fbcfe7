// Nobody takes their own units: whoever gives them is not offered to take them. The server refuses it as well.

const giver = document.querySelector("select[name=giver]");
const takers = document.querySelectorAll("input[type=checkbox][name=takers]");
const offer = () => {
  for (const taker of takers) {
    const own = taker.value === giver.value;
    taker.disabled = own;
    if (own) taker.checked = false;
    taker.closest("label").hidden = own;
  }
};
if (giver) {
  giver.addEventListener("change", offer);
  offer();
}
