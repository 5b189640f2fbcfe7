// How long a page was in sight, told to one's own hours when it goes out of sight. For pages that are read:
// <script src="…/reading.js" data-url="…" data-kind="guideline" defer>. What does not arrive can be corrected by hand.

const { url, kind } = document.currentScript.dataset;
const GLANCE = 5; // seconds: less is not reading
const inSight = () => document.visibilityState === "visible";
let since = inSight() ? performance.now() : null;

function uuid() {
  if (crypto.randomUUID) return crypto.randomUUID(); // missing on plain http
  return "10000000-1000-4000-8000-100000000000".replace(/[018]/g, (c) =>
    (c ^ (crypto.getRandomValues(new Uint8Array(1))[0] & (15 >> (c / 4)))).toString(16),
  );
}

function tell() {
  if (since === null) return;
  const seconds = Math.round(performance.now() - since) / 1000;
  since = null;
  if (seconds < GLANCE) return;
  const token = /(?:^|;\s*)csrftoken=([^;]+)/.exec(document.cookie)?.[1] ?? "";
  fetch(url, {
    method: "POST",
    keepalive: true,
    headers: { "Content-Type": "application/json", "X-CSRFToken": token },
    body: JSON.stringify({ kind, seconds, client_key: uuid() }),
  }).catch(() => {});
}

document.addEventListener("visibilitychange", () => {
  if (inSight()) since ??= performance.now();
  else tell();
});
window.addEventListener("pagehide", tell);
window.addEventListener("pageshow", () => {
  if (inSight()) since ??= performance.now(); // back from the browser's cache
});
