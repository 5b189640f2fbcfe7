// Texts into the page, always as text. Cutting and marking never changes them: what is copied is what is stored.

const ROLE = /(?<![A-Za-z0-9_])(?:PersonX|PersonY|PersonZ|PeopleX|PeopleY)(?![A-Za-z0-9_])/g;
// What takes no room or looks like something else; the server's list, with the odd blanks.
const HIDDEN = /[\u00a0\u00ad\u034f\u061c\u180e\u2000-\u200f\u2028-\u202f\u205f-\u2064\u2066-\u2069\u3000\ufeff]/gu;
const ASCII_SIGN = /[!-/:-@[-`{-~]/g;

export function element(name, className, text) {
  const node = document.createElement(name);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

/** Replace a node's content by `text`, cut where `pattern` matches; `wrap` makes the piece for a match. */
function cut(text, pattern, wrap) {
  const pieces = [];
  let at = 0;
  for (const match of text.matchAll(pattern)) {
    if (match.index > at) pieces.push(text.slice(at, match.index));
    pieces.push(wrap(match[0]));
    at = match.index + match[0].length;
  }
  if (at < text.length) pieces.push(text.slice(at));
  return pieces;
}

export function chips(text) {
  return cut(text, ROLE, (name) => element("span", `chip chip-${name.toLowerCase()}`, name));
}

/** The source with its compound marked; `span` counts code points, as the server does. */
export function marked(text, span) {
  if (!span) return [text];
  const points = Array.from(text);
  const part = (from, to) => points.slice(from, to).join("");
  return [part(0, span[0]), element("mark", "compound", part(span[0], span[1])), part(span[1])].filter(Boolean);
}

/** A text cut where words begin, counted in code points: each piece carries a faint mark before it. */
export function divided(text, starts) {
  const points = Array.from(text);
  const edges = [0, ...starts, points.length];
  return edges.slice(1).map((end, place) => element("span", "word-piece", points.slice(edges[place], end).join("")));
}

/** Every hidden character as a labelled box; in Chinese also ASCII signs, told from full-width ones. */
export function reveal(text, { signs = false } = {}) {
  const pieces = cut(text, HIDDEN, (character) => {
    const node = element("span", "hidden-character", character);
    node.dataset.code = `U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
    return node;
  });
  if (!signs) return pieces;
  const asciiSign = (sign) => element("span", "ascii-sign", sign);
  return pieces.flatMap((piece) => (typeof piece === "string" ? cut(piece, ASCII_SIGN, asciiSign) : [piece]));
}

/** The same inside what is marked or a chip already. */
export function revealIn(pieces) {
  return pieces.flatMap((piece) => {
    if (typeof piece === "string") return reveal(piece);
    put(piece, reveal(piece.textContent));
    return [piece];
  });
}

export function put(node, pieces) {
  node.replaceChildren(...pieces);
}

/** A short form for lines and lists, cut between code points. */
export function short(text, limit = 40) {
  const points = Array.from(text);
  return points.length > limit ? `${points.slice(0, limit - 1).join("")}…` : text;
}
