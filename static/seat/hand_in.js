// A part is handed in when nothing of it waits in this browser any more.

import { waiting } from "./outbox.js";

const form = document.getElementById("hand-in");
if (form) {
  const owner = { user: Number(form.dataset.user), campaign: form.dataset.campaign };
  const left = (await waiting(owner)).filter((entry) => entry.kind !== "time"); // time may come later
  document.getElementById("still-waiting").hidden = left.length === 0;
  if (left.length) form.querySelector("button").disabled = true;
}
