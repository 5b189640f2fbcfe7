// Answers a judging page that cannot be fetched with one page that says so. Keeps nothing, touches nothing else.

const PAGE = {{ page|safe }};
const JUDGING = /\/judge\/$/;
const HEADERS = {
  "Content-Type": "text/html; charset=utf-8",
  "Content-Security-Policy": "default-src 'none'; style-src 'self'; form-action 'none'",
  "Cache-Control": "no-store",
};

self.addEventListener("install", (event) => {
  self.skipWaiting();
  const others = ["cors", "no-cors", "same-origin"].map((requestMode) => ({ condition: { requestMode }, source: "network" }));
  // Where the browser can, other requests do not even pass here.
  event.addRoutes?.(others).catch(() => {});
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.mode !== "navigate" || request.method !== "GET" || !JUDGING.test(new URL(request.url).pathname)) return;
  event.respondWith(fetch(request).catch(() => new Response(PAGE, { headers: HEADERS })));
});
