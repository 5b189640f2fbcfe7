// The judging page comes alive: the outbox is read, the sender starts, keys and buttons act.

import * as api from "./api.js";
import { restIsDue } from "./clock.js";
import { settle, sayKeptAside } from "./conflicts.js";
import * as desk from "./desk.js";
import * as dialogs from "./dialogs.js";
import { onJump } from "./look_back.js";
import * as offline from "./offline.js";
import * as outbox from "./outbox.js";
import { byId, say, seat } from "./page.js";
import * as presses from "./presses.js";
import * as progress from "./progress.js";
import * as record from "./record.js";
import { createSender } from "./sender.js";
import * as settings from "./settings.js";
import * as status from "./status.js";
import * as supply from "./supply.js";

const LOOK_FOR_ANSWERS = 5 * 60_000;

let entries = [];
let trouble = "";

const sender = createSender({
  owner: desk.owner,
  ask: supply.wanted,
  tell: {
    onSaved(entry, body) {
      if (entry.kind === "answers" && body?.saved.length < entry.body.answers.length) sayKeptAside(entry, say("keptAside"));
      if (body?.next) desk.supplied(body.next.units);
    },
    onHeld(entry, { body }) {
      if (["later", "back", "time"].includes(entry.kind)) status.cue(body?.detail ?? "");
      else if (body?.code === "kept_aside") sayKeptAside(entry, body.detail);
      else settle(entry, sender);
    },
    onState(state) {
      trouble = state.trouble;
      showBadge();
      sayTrouble(state);
      if (!trouble) void askStanding();
    },
  },
});

function showBadge() {
  status.showBadge({ n: entries.length + outbox.underWay(), held: entries.filter((entry) => entry.held).length, trouble });
}

function sayTrouble({ trouble: why, status: code }) {
  if (!why) {
    for (const id of ["trouble", "no-more"]) status.dismiss(id);
    return;
  }
  const said = {
    offline: { kind: "warn", text: say("unreachable"), acts: [[say("retry"), sender.retryNow]] },
    server: { kind: "warn", text: say("serverTrouble", { status: code }), acts: [[say("retry"), sender.retryNow]] },
    signedOut: { kind: "warn", text: say("signedOutText"), acts: [[say("signIn"), openSignIn]] },
    otherUser: { kind: "wrong", text: say("otherUser", { name: seat.user.name }), acts: [[say("retry"), sender.resume]] },
  };
  status.notice("trouble", said[why]);
}

function openSignIn() {
  dialogs.show("sign-in-dialog");
  byId("again-password").focus();
}

byId("sign-in-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const done = await api.signIn(byId("again-password").value);
  byId("again-password").value = "";
  byId("sign-in-said").textContent = done ? "" : say("signInFailed");
  if (!done) return;
  byId("sign-in-dialog").close();
  await sender.resume();
});

const gone = new Set(); // one tab may have sent what another has not yet told of

/** The list of what waits, kept in step with the outbox of all tabs. */
function follow({ kind, entry }) {
  if (kind === "removed") gone.add(entry.seq);
  entries = entries.filter((one) => one.seq !== entry.seq);
  if (!gone.has(entry.seq)) entries.push(entry);
}

let changes = 0;
const isQuiet = () => !outbox.underWay() && entries.every((entry) => entry.kind !== "answers" || entry.held);

/** How far everything is as the server has it; taken where nothing was under way, or it would be unclear what it holds. */
async function askStanding() {
  if (!progress.isDoubtful() || !isQuiet() || sender.stopped()) return;
  const before = changes;
  const { status: code, body } = await supply.standing();
  if (code !== 200 || before !== changes || !isQuiet()) return;
  progress.read(body.progress);
  desk.showStanding();
}

outbox.onChange((message) => {
  const { entry, kind, elsewhere } = message;
  if (entry.user !== desk.owner.user || entry.campaign !== desk.owner.campaign) return;
  changes += 1;
  if (kind !== "adding") follow(message);
  showBadge();
  if (kind === "adding") return;
  if (kind !== "added" || !gone.has(entry.seq)) desk.follow(message);
  void askStanding();
  if (elsewhere && kind === "added" && entry.kind === "answers") desk.answeredElsewhere(entry);
});

onJump((screen) => desk.correct(screen));
dialogs.onReading(desk.addReading);
window.addEventListener("online", () => void sender.retryNow());
// Signed in again in another tab meanwhile?
window.addEventListener("focus", () => {
  if (sender.stopped()) void sender.resume();
});
window.addEventListener("popstate", (event) => void desk.turnTo(positionOf(event)));
window.addEventListener("pagehide", () => {
  desk.keepTime();
  const read = dialogs.stopReading();
  void sender.parting(read ? [...entries, read] : entries);
});
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "hidden") desk.keepTime();
});
// A crash costs no more than that.
setInterval(desk.keepTime, 30_000);
// Only where the browser keeps nothing would leaving lose an answer.
window.addEventListener("beforeunload", (event) => {
  if (!outbox.isDurable() && entries.length + outbox.underWay()) event.preventDefault();
});
// A page taken out of the browser's cache shows what was true then: ask anew.
window.addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload();
});
setInterval(() => {
  if (!restIsDue()) return;
  status.notice("rest", { kind: "info", text: say("rest"), acts: [[say("dismiss"), () => status.dismiss("rest")]] });
}, 60_000);

/** Answers to one's questions and new guidelines come from outside: looked for now and then, while the page is in sight. */
setInterval(async () => {
  if (document.visibilityState !== "visible" || sender.stopped()) return;
  const { status: code, body } = await api.call("GET", seat.urls.work);
  if (code !== 200 || body.user !== seat.user.id) return;
  status.showNewAnswers(body.new_answers);
  if (body.guideline !== seat.guideline) status.tellNewGuidelines();
}, LOOK_FOR_ANSWERS);

const positionOf = (event) => event.state?.position ?? Number(new URLSearchParams(location.search).get("position"));

async function begin() {
  document.documentElement.classList.add("js");
  presses.begin();
  settings.begin();
  await outbox.ready();
  entries = await outbox.waiting(desk.owner);
  if (!outbox.isDurable()) status.notice("memory", { kind: "warn", text: say("memoryOnly") });
  await desk.begin({ flush: sender.flush, askStanding, waitingEntries: entries.filter((entry) => entry.kind === "answers") });
  showBadge();
  for (const entry of entries.filter((one) => one.held)) settle(entry, sender);
  await sender.flush();
  await record.older();
}

await begin();
document.documentElement.dataset.seat = "ready";
offline.begin();
