// What the server put into the page, and the few lines every other file needs.

export const seat = JSON.parse(document.getElementById("seat-data").textContent);

export const isCompound = seat.protocol === "compound";

/** A sentence in the language of the page, with its {gaps} filled; of one thing, where that has words of its own. */
export function say(name, values = {}) {
  const ofOne = values.n === 1 ? seat.words[`${name}One`] : undefined;
  return (ofOne ?? seat.words[name]).replace(/\{(\w+)\}/g, (_gap, key) => String(values[key]));
}

export const byId = (id) => document.getElementById(id);

export const addressOf = (name, number) => seat.urls[name].replace("{number}", number);

/** A random name for a saved answer or a session; crypto.randomUUID is missing on plain http. */
export function uuid() {
  if (crypto.randomUUID) return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
