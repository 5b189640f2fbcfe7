// Texts into the page, always as text. Cutting and marking never changes them: what is copied is what is stored.

import { seat } from "./page.js";

const ROLE = /(?<![A-Za-z0-9_])(?:PersonX|PersonY|PersonZ|PeopleX|PeopleY)(?![A-Za-z0-9_])/g;
// What takes no room or passes for another blank: the server's list.
const escaped = (code) => `\\u{${code.toString(16)}}`;
const HIDDEN = new RegExp(`[${seat.hidden.map(([from, to]) => `${escaped(from)}-${escaped(to)}`).join("")}]`, "gu");
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

/**
 * A translation with every form of the atoms marked by which the automatic check would find them: as it looks,
 * without regard to blanks. `forms` are theirs, by atom in lower case.
 */
export function formsMarked(text, atoms, forms) {
  const points = Array.from(text);
  const solid = points.flatMap((point, place) => (/\s/u.test(point) ? [] : [place]));
  const within = new Set();
  for (const form of atoms.flatMap(([, atom]) => forms[atom.toLowerCase()] ?? [])) {
    const wanted = Array.from(form);
    for (let at = 0; at + wanted.length <= solid.length; at += 1) {
      if (!wanted.every((point, place) => points[solid[at + place]] === point)) continue;
      for (let place = solid[at]; place <= solid[at + wanted.length - 1]; place += 1) within.add(place);
    }
  }
  const edges = points.flatMap((_point, place) => (place && within.has(place) !== within.has(place - 1) ? [place] : []));
  return [0, ...edges].map((from, turn) => {
    const piece = points.slice(from, edges[turn] ?? points.length).join("");
    return within.has(from) ? element("mark", "compound", piece) : piece;
  });
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

/** How long a text is in code points, as the server counts. */
export const pointsOf = (text) => Array.from(text).length;

/** The first so many code points of a text; the text itself where it has no more. */
export function firstPoints(text, limit) {
  if (text.length <= limit) return text; // never more code points than units
  const points = Array.from(text);
  return points.length > limit ? points.slice(0, limit).join("") : text;
}

/** A short form for lines and lists. */
export function short(text, limit = 40) {
  return pointsOf(text) > limit ? `${firstPoints(text, limit - 1)}…` : text;
}
