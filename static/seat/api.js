// Requests to our own server. The CSRF token is read anew every time: it changes at every sign-in.

import { seat } from "./page.js";

const PATIENCE = 20_000;

const csrf = () => /(?:^|;\s*)csrftoken=([^;]+)/.exec(document.cookie)?.[1] ?? "";

function once(method, url, body, keepalive) {
  const headers = { Accept: "application/json", "X-CSRFToken": csrf(), "X-Assay-Expert": String(seat.user.id) };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  return fetch(url, {
    method,
    headers,
    keepalive,
    body: body === undefined ? undefined : JSON.stringify(body),
    credentials: "same-origin",
    redirect: "manual",
    signal: AbortSignal.timeout(PATIENCE),
  });
}

/** {status, body}; status 0 where the server could not be reached. A 403 is tried once more with a fresh token. */
export async function call(method, url, body, { keepalive = false } = {}) {
  try {
    let response = await once(method, url, body, keepalive);
    if (response.status === 403 && method !== "GET") response = await once(method, url, body, keepalive);
    if (response.type === "opaqueredirect") return { status: 401, body: null }; // to the sign-in
    const json = (response.headers.get("Content-Type") ?? "").includes("json");
    return { status: response.status, body: json ? await response.json() : null };
  } catch {
    return { status: 0, body: null };
  }
}

/** Whose sign-in this browser holds now: "me", "other", "nobody", or "unknown" where nobody answers. */
export async function whoIsHere() {
  const { status, body } = await call("GET", seat.urls.work);
  if (status === 200) return body?.user === seat.user.id ? "me" : "other";
  if (status === 401) return "nobody";
  return status === 404 ? "other" : "unknown"; // a stranger to this campaign does not find the page
}

/** Sign in again without leaving the page. */
export async function signIn(password) {
  const send = () => {
    const form = new URLSearchParams({ username: seat.user.name, password, next: seat.urls.work });
    return fetch(seat.urls.signIn, {
      method: "POST",
      headers: { "X-CSRFToken": csrf() },
      body: form,
      credentials: "same-origin",
      redirect: "manual",
    });
  };
  try {
    if (!csrf()) await fetch(seat.urls.signIn, { credentials: "same-origin" });
    const response = await send();
    // A wrong password shows the form again (200); the right one sends us on.
    return response.type === "opaqueredirect";
  } catch {
    return false;
  }
}
