// A piece of a page that is asked for again until it says that it is finished; then the whole page is loaded anew.
// The answer may be that piece alone, or a page that holds it under the same id.
"use strict";

const EVERY = 1000; // milliseconds
const SLOWEST = 10000;

for (const place of document.querySelectorAll("[data-poll]")) {
  let pause = EVERY;
  const ask = async () => {
    try {
      const answer = await fetch(place.dataset.poll, { credentials: "same-origin", redirect: "error" });
      if (!answer.ok) throw new Error(String(answer.status));
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (page.querySelector("[data-finished]")) {
        location.reload();
        return;
      }
      place.replaceChildren(...(page.getElementById(place.id) ?? page.body).children);
      pause = EVERY;
    } catch {
      pause = Math.min(2 * pause, SLOWEST); // away for the moment, or signed out: ask less often
    }
    setTimeout(ask, pause);
  };
  setTimeout(ask, pause);
}
