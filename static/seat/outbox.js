// Answers that the server has not acknowledged, and half-filled screens: in IndexedDB, by person and campaign.
// They outlive reloads, crashes and sign-outs. Holds no item text, but for a person's own notes.

const DATABASE = "assay-seat";
const PATIENCE = 3_000;
const changed = "BroadcastChannel" in self ? new BroadcastChannel(DATABASE) : null;
const listeners = [];

let opening = null;
let durable = true;
const memory = new Map();
let serial = Date.now();
let adding = 0;

export const isDurable = () => durable;

/** Told of every change of the outbox, made here or in another tab. */
export function onChange(listener) {
  listeners.push(listener);
}

if (changed) changed.onmessage = (event) => tell(event.data);

function tell(message) {
  for (const listener of listeners) listener(message);
}

function announce(message) {
  changed?.postMessage({ ...message, elsewhere: true });
  tell(message);
}

function open() {
  opening ??= new Promise((resolve, reject) => {
    const request = indexedDB.open(DATABASE, 1);
    request.onupgradeneeded = () => {
      const store = request.result.createObjectStore("outbox", { keyPath: "seq", autoIncrement: true });
      store.createIndex("owner", ["user", "campaign"]);
      request.result.createObjectStore("drafts", { keyPath: ["user", "campaign", "position"] });
    };
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
    setTimeout(() => reject(new Error("The browser's store does not answer.")), PATIENCE);
  }).catch(() => {
    durable = false;
    return null;
  });
  return opening;
}

async function inStore(name, mode, use) {
  const database = await open();
  if (!database) return undefined;
  return new Promise((resolve, reject) => {
    const transaction = database.transaction(name, mode, { durability: "strict" });
    const request = use(transaction.objectStore(name));
    transaction.oncomplete = () => resolve(request?.result);
    transaction.onabort = () => reject(transaction.error);
  });
}

/** Open the store early, so that the first answer does not wait for it. */
export const ready = () => open();

/** On their way to the disk: counted as waiting from the first moment. */
export const underWay = () => adding;

/** Keep an entry until it is removed; resolves once it is on the disk. */
export async function add(entry) {
  adding += 1;
  tell({ kind: "adding", entry });
  const seq = await inStore("outbox", "readwrite", (store) => store.add(entry)).catch(() => {
    durable = false; // a full disk: kept in memory, and leaving the page asks first
  });
  adding -= 1;
  entry.seq = seq ?? serial++;
  if (seq === undefined) memory.set(entry.seq, entry);
  announce({ kind: "added", entry });
  return entry;
}

/** What waits for this person in this campaign, the oldest first. */
export async function waiting({ user, campaign }) {
  const found = (await inStore("outbox", "readonly", (store) => store.index("owner").getAll([user, campaign]))) ?? [];
  const inMemory = [...memory.values()].filter((one) => one.user === user && one.campaign === campaign);
  return [...found, ...inMemory].sort((a, b) => a.seq - b.seq);
}

/** How much of what this person said waits, in all campaigns. Time spent on reading is nothing to ask about. */
export async function waitingOf(user) {
  const found = (await inStore("outbox", "readonly", (store) => store.getAll())) ?? [];
  return [...found, ...memory.values()].filter((one) => one.user === user && one.kind !== "time").length;
}

export async function update(entry) {
  if (memory.has(entry.seq)) memory.set(entry.seq, entry);
  else await inStore("outbox", "readwrite", (store) => store.put(entry));
  announce({ kind: "updated", entry });
}

export async function remove(entry, why = "done") {
  if (!memory.delete(entry.seq)) await inStore("outbox", "readwrite", (store) => store.delete(entry.seq));
  announce({ kind: "removed", entry, why });
}

export async function saveDraft(owner, position, draft) {
  await inStore("drafts", "readwrite", (store) => store.put({ ...owner, position, draft }));
}

/** All half-filled screens of a person in a campaign, by position. */
export async function draftsOf({ user, campaign }) {
  const found = (await inStore("drafts", "readonly", (store) => store.getAll())) ?? [];
  const mine = found.filter((one) => one.user === user && one.campaign === campaign);
  return new Map(mine.map((one) => [one.position, one.draft]));
}

export async function removeDraft({ user, campaign }, position) {
  await inStore("drafts", "readwrite", (store) => store.delete([user, campaign, position]));
}

/** At sign-out nothing of the items stays in this browser. */
export async function forgetDrafts() {
  await inStore("drafts", "readwrite", (store) => store.clear());
}
