// What is on the page is read once the page is looked at: the form that says so is sent without leaving the page.
// Without a script its button does.

const form = document.querySelector("form[data-seen]");

function send() {
  if (document.visibilityState !== "visible") return;
  document.removeEventListener("visibilitychange", send);
  fetch(form.action, { method: "POST", body: new FormData(form), redirect: "manual", keepalive: true })
    .then(() => {
      form.hidden = true;
    })
    .catch(() => {});
}

if (form) {
  document.addEventListener("visibilitychange", send);
  send();
}
