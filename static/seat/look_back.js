// The last fifty answers and the search over one's own: a list one can jump from.

import { call } from "./api.js";
import { byId, isCompound, say, seat } from "./page.js";
import * as record from "./record.js";
import { chips, element, put } from "./text.js";
import { answerWord } from "./view.js";
import { show } from "./dialogs.js";

const list = byId("history-list");
const rulings = byId("precedent-list");
let jump = () => {};
let asked = 0;
let { partial } = seat; // whether answers are out of sight, as the server said last
let { closed } = seat; // whether others were given in closed rounds, which are not shown

export function onJump(act) {
  jump = act;
}

export async function openList({ search }) {
  const dialog = show("history-dialog");
  byId("search-text").value = "";
  (search ? byId("search-text") : dialog.querySelector("[data-close]")).focus();
  fill(await record.latest());
  if (search) await tellRulings();
}

/** What was decided about the unit on the screen, before anything is searched. */
async function tellRulings() {
  const turn = ++asked;
  showRulings([]);
  const position = document.getElementById("sheet")?.dataset.position ?? "";
  const { status: code, body } = await call("GET", `${seat.urls.history}?${new URLSearchParams({ position })}`);
  if (code === 200 && body && turn === asked) showRulings(body.precedents);
}

function showRulings(found) {
  byId("precedents").hidden = !found.length;
  put(rulings, found.map(ruling));
}

function ruling({ about, key, text, items }) {
  const line = element("li");
  const head = element("p", "row small");
  const name = element("strong", "", key);
  name.lang = "en";
  head.append(element("span", "badge", about), name);
  const said = element("p", "said", text);
  said.dir = "auto";
  line.append(head, said);
  for (const item of items) {
    const named = element("p", "small muted", item);
    named.lang = "en";
    line.append(named);
  }
  return line;
}

function fill(screens) {
  const searched = byId("search-text").value.trim() !== "";
  const hides = partial && screens.length < record.LENGTH;
  const none = searched ? say("nothingFound") : hides || closed ? "" : say("nothingAnswered");
  byId("history-said").textContent = screens.length ? "" : none;
  byId("history-partial").hidden = !hides;
  byId("history-closed").hidden = !closed;
  put(list, screens.map(line));
}

function line(screen) {
  const item = element("li", "history-item");
  const open = element("a");
  open.href = `${seat.urls.judge}?position=${screen.position}`;
  open.lang = "en";
  open.dir = "auto";
  const [first] = screen.rows;
  if (isCompound) put(open, [element("span", "title", screen.compound)]);
  else put(open, triple(first));
  open.addEventListener("click", (event) => {
    event.preventDefault();
    byId("history-dialog").close();
    jump(screen);
  });
  item.append(open, signs(screen));
  return item;
}

function triple({ head, relation, tail }) {
  const connector = element("span", "muted");
  connector.lang = seat.language;
  put(connector, chips(seat.connectors[relation]?.text ?? relation));
  return [...chips(head), " ", connector, " ", ...chips(tail), " ", element("span", "small muted", `(${relation})`)];
}

function signs(screen) {
  const all = element("span", "signs");
  for (const row of screen.rows) {
    const answer = { ...row.answer };
    const kind = answer.cannot_judge ? "cannot" : answer.label;
    const sign = { wrong: "✗", correct: "✓", cannot: "?" }[kind] ?? "";
    all.append(element("span", `mark ${kind}`, `${sign} ${answerWord(answer)}`.trim()));
  }
  return all;
}

// A search field takes the first Esc for itself, to empty it: here it closes the window, as everywhere.
byId("search-text").addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || event.isComposing) return;
  event.preventDefault();
  byId("history-dialog").close();
});

byId("search-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const text = byId("search-text").value.trim();
  if (!text) {
    fill(await record.latest());
    await tellRulings();
    return;
  }
  const turn = ++asked;
  const { status: code, body } = await call("GET", `${seat.urls.history}?${new URLSearchParams({ q: text })}`);
  if (turn !== asked) return;
  if (code === 200 && body) {
    showRulings(body.precedents);
    ({ partial, closed } = body);
    fill(body.units);
  } else byId("history-said").textContent = say("searchFailed");
});
