// A reload without a network shows a page of ours that says where the answers are; plain http has no such thing.

import { seat } from "./page.js";

export function begin() {
  const { worker, workerScope: scope } = seat.urls;
  navigator.serviceWorker?.register(worker, { scope }).catch(() => {}); // a browser that forbids it shows its own page
}
