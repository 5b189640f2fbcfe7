// Signing out leaves nothing of the items in this browser, and asks first where answers still wait. (Those hold
// no item text; they stay until their owner signs in again.) For every page of somebody signed in: the form
// carries data-user and data-warning, or the judging page's own data say both.

import { forgetDrafts, waitingOf } from "./outbox.js";

const form = document.querySelector('form[action$="/sign-out/"]');
const onPage = document.getElementById("seat-data");
const seat = onPage ? JSON.parse(onPage.textContent) : null;

async function leave(event) {
  event.preventDefault();
  const user = seat ? seat.user.id : Number(form.dataset.user);
  const left = await waitingOf(user).catch(() => 0);
  const { warning, warningOne } = form.dataset;
  const { leaving, leavingOne } = seat ? seat.words : { leaving: warning, leavingOne: warningOne };
  if (left && !window.confirm(left === 1 ? leavingOne : leaving.replace("{n}", left))) return;
  await forgetDrafts().catch(() => {});
  form.submit();
}

if (form && (seat || form.dataset.user)) form.addEventListener("submit", leave);
