"""Whole campaigns over HTTP: pages and forms for the manager, pages and interface for simulated experts.

Services are called to look up what came about, never to bring it about. Everything that an expert receives is looked at
as it arrives (`walking.Watch`).
"""

import csv
import io
import json
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from annotation.models import (
    Annotation,
    Arbitration,
    Assignment,
    AuditEntry,
    Campaign,
    FinalLabel,
    Item,
    Part,
    Round,
)
from annotation.protocol.triple import RELATION_NAMES
from annotation.services import jobs, screens
from annotation.services.jobs import due
from config.celery import app
from tests.browsing import Browser, Page
from tests.factories import PASSWORD, make_cast, make_judged, make_user, seat_number, with_password
from tests.material import as_csv, compounds
from tests.walking import Expert, Leak, Watch, share, told_apart

pytestmark = pytest.mark.django_db

SEED = 20
N = 400
NAMES = ("zqanna", "zqboris", "zqchloe", "zqdamir")  # experts: words that come up nowhere else
CHECKER = "zqelias"
IDLE = "zqfelix"  # takes the pseudonym A1, which a page of explanations has as its example
SLIPS = dict(zip((*NAMES, CHECKER), (0.04, 0.06, 0.08, 0.10, 0.0), strict=True))
GOLD_NOTE, ARBITER, CLASSES = "zqfrom-the-book", "zqbecause-I-say-so", ("zqindist", "zqoutdist", "zqadverse")
PLANTED_EVERY, STUBBORN = 8, 3
GOLD = (17, 33, 65)


# The manager, whatever is judged


@dataclass
class Walk:
    """One campaign under way: its manager, its experts, and the watch over what they get."""

    slug: str
    manager: Browser
    watch: Watch = field(default_factory=Watch)
    experts: dict[str, Expert] = field(default_factory=dict)
    looks: int = 0

    @property
    def campaign(self) -> Campaign:
        return Campaign.objects.get(slug=self.slug)

    def page(self, path: str, **query: Any) -> Page:
        return self.manager.get(f"/campaigns/{self.slug}/{path}", **query)

    def holds(self, stage: str) -> None:
        """Nothing is wrong with what is stored; what follows is of the next stage."""
        checks = self.page("verify/").text
        assert "holds" in checks
        assert "violated" not in checks, f"after “{stage}”: {checks}"

    def now(self, stage: str) -> None:
        self.watch.stage = stage

    def look_around(self) -> dict[str, dict[str, Page]]:
        """Everybody looks at what changes, and one of them, each time another, at everything."""
        self.looks += 1
        return {
            name: expert.look_around(everywhere=place == self.looks % len(self.experts))
            for place, (name, expert) in enumerate(self.experts.items())
        }

    def judge(self, about: str, sitting: str, *names: str, most: int | None = None) -> dict[str, list[str]]:
        return {name: self.experts[name].judge(about, sitting, most=most) for name in names or self.experts}

    def new_campaign(self, title: str, protocol: str, k: int) -> None:
        page = self.manager.get("/campaigns/new/")
        self.manager.press(
            page,
            "Open the campaign",
            title=title,
            slug=self.slug,
            protocol=protocol,
            annotators_per_item=k,
        )
        Campaign.objects.update(seed=SEED)  # it is drawn by chance, and a test has to come out the same again

    def import_items(self, rows: list[dict[str, object]]) -> None:
        file: Any = {"items-file": SimpleUploadedFile("items.csv", as_csv(rows).encode())}
        page = self.page("import/")
        preview = self.manager.press(page, "Look at the file", having="items-file", **file)
        stored = self.manager.press(preview, f"Store {len(rows)} new rows")
        assert "Stored" in stored.text

    def join(self, invitations: Page, *names: str) -> None:
        """Take up the links on a page of invitations, read what is recorded, and begin."""
        links = re.findall(r'value="(https?://[^"]*/invitation/[^"]+)"', invitations.body)
        by_name = dict(zip(names, links, strict=True))
        for name, link in by_name.items():
            browser = Browser(Client(), self.watch.receiver(name))
            member = self.campaign.memberships.get(user__username=name)
            self.watch.names[name] = {name, member.pseudonym}
            path = re.sub(r"https?://[^/]+", "", link)
            welcome = browser.get(path)
            browser.press(welcome, "Set password and start", new_password1=PASSWORD, new_password2=PASSWORD)
            notice = browser.get(f"/campaigns/{self.slug}/work/")
            browser.press(notice, "I have read this: go on")
            self.experts[name] = Expert(name, browser, self.watch, self.slug, lambda _name, _text: "1")

    def work_by_program(self, name: str) -> None:
        """From now on this expert's answers come with a personal key."""
        expert = self.experts[name]
        made = expert.browser.press(expert.browser.get("/account/"), "Make a token", name="script")
        found = re.search(r'id="new-token"[^>]*value="([^"]+)"', made.body)
        assert found
        expert.headers = {"Authorization": f"Bearer {found[1]}"}

    def members(self, *names: str) -> list[str]:
        """As the boxes of a form name them."""
        found = dict(self.campaign.memberships.values_list("user__username", "pk"))
        return [str(found[name]) for name in names]

    def give_out(self, *names: str, **wish: Any) -> Page:
        """Plan the next batch of the main round, and confirm it."""
        page = self.page("assign/")
        plan = self.manager.press(page, "Show the plan", members=self.members(*names), **wish)
        before = Part.objects.count()
        self.manager.press(plan, "Give out these parts")
        assert Part.objects.count() > before
        return plan

    def hand_in(self, *names: str) -> None:
        for name in names:
            expert = self.experts[name]
            for part in expert.call("next/")["progress"]["parts"]:
                if part["done"] == part["total"] and not part["handed_in"] and not part["closed"]:
                    address = f"/campaigns/{self.slug}/parts/{part['index']}/hand-in/"
                    thanks = expert.browser.press(expert.browser.get(address), "Hand in")
                    assert "is handed in" in thanks.text

    def close_batches(self) -> None:
        for design in self.campaign.rounds.get(kind="main").designs.order_by("pk"):
            page = self.page("batches/")
            self.manager.press(page, "Freeze its answers", action=f"/batches/{design.pk}/close/")

    def run_jobs(self) -> None:
        """What a worker would do, here and now."""
        app.loader.import_default_modules()
        while waiting := due():
            for job in waiting:
                app.tasks[jobs.task_name(job.kind)](job.pk)
        assert not self.campaign.jobs.exclude(state="done").exists()

    def compute(self) -> None:
        self.manager.press(self.page(""), "Compute final labels and agreement now")
        self.run_jobs()

    def export(self, what: str) -> list[dict[str, str]]:
        return list(csv.DictReader(io.StringIO(self.page(f"export/{what}.csv").body.removeprefix("\ufeff"))))


@pytest.fixture
def manager() -> Browser:
    """Mei, who has signed in by the page and may open campaigns."""
    with_password(make_user("zqmei", is_superuser=True, is_staff=True))
    browser = Browser(Client())
    browser.press(
        browser.get("/sign-in/"), "Sign in", action="/sign-in/", username="zqmei", password=PASSWORD
    )
    return browser


# Triples


def rows_of_triples() -> list[dict[str, object]]:
    """400 triples over all relations, with classes, splits and labels that experts must not see."""
    return [
        {
            "triple_id": f"zqkey{i:04}",
            "head": f"PersonX mends chair {i:03}",
            "relation": RELATION_NAMES[i % len(RELATION_NAMES)],
            "tail": f"the chair {i:03} stands again",
            "class": CLASSES[i % len(CLASSES)],
            "split": "dev" if i % 5 == 0 else "test",
            "label": str(i % 2),
        }
        for i in range(1, N + 1)
    ]


def number(text: str) -> int:
    found = re.search(r"\d+", text)
    assert found
    return int(found[0])


def truth(text: str) -> str:
    drawn = share(SEED, "truth", text)
    return "1" if drawn < 0.3 else "0.5" if drawn < 0.5 else "0"


def planted(text: str) -> bool:
    return number(text) % PLANTED_EVERY == 0


def opinion(name: str, text: str) -> str:
    """The truth, with the expert's own slips to a neighbouring score; on what was planted two camps contrast."""
    if planted(text) and name in NAMES:
        return str(NAMES.index(name) % 2)
    right = truth(text)
    if share(SEED, "slip", name, text) >= SLIPS[name]:
        return right
    return "0.5" if right != "0.5" else "1" if share(SEED, "way", name, text) < 0.5 else "0"


def stubborn(text: str) -> bool:
    return planted(text) and number(text) // PLANTED_EVERY % 5 == STUBBORN


def after_discussion(name: str, text: str) -> str:
    """They agree on the truth, but for some items on which both stay as they were."""
    return opinion(name, text) if stubborn(text) else truth(text)


def note(name: str, text: str) -> str:
    """It tells whose it is without naming them."""
    return f"zqnote{(*NAMES, CHECKER).index(name)}-{number(text):03}" if planted(text) else ""


def ckbp2(scores: list[str]) -> str:
    """The published rule, written anew: plausible if one says 1 and the other at least 0.5."""
    return str(int(max(map(float, scores)) == 1 and min(map(float, scores)) >= 0.5))


def tails(page: Page) -> list[str]:
    """Which triples a page shows, in its order, each once."""
    return list(dict.fromkeys(re.findall(r"the chair \d+ stands again", page.text)))


def of_main(campaign: Campaign) -> dict[str, list[str]]:
    """By tail, whose items they are in the main round, slot 1 first."""
    found: dict[str, list[str]] = {}
    rows = Assignment.objects.filter(
        round__campaign=campaign, round__kind="main", withdrawn_at__isnull=True
    ).order_by("slot")
    for tail, name in rows.values_list("item__tail", "expert__username"):
        found.setdefault(tail, []).append(name)
    return found


class Triples:
    """The stages of a campaign of triples, in their order."""

    def __init__(self, manager: Browser) -> None:
        self.walk = Walk("chairs", manager)
        self.all = (*NAMES, CHECKER)

    def prepare(self) -> None:
        walk = self.walk
        walk.now("preparation")
        walk.new_campaign("Chairs", "triple", 2)
        walk.import_items(rows_of_triples())
        for position in GOLD:
            gold = walk.manager.press(
                walk.page("gold/"), "Mark it", position=position, label="1", note=f"{GOLD_NOTE} {position}"
            )
            assert f"{GOLD_NOTE} {position}" in gold.body
        walk.manager.press(walk.page("people/"), "Add", action="/people/add/", name=IDLE, role="expert")
        walk.watch.secret |= {IDLE, *CLASSES, "zqkey", GOLD_NOTE, ARBITER}
        walk.holds("import")

    def dry_run(self) -> None:
        walk = self.walk
        walk.now("dry run")
        asked = walk.manager.press(
            walk.page("rounds/dry-run/new/"),
            "Show the plan",
            members=[],
            names="\n".join(NAMES),
            n=60,
            source="set_aside",
            threshold="0.9",
            coefficient="alpha_ordinal",
            bound="lower",
        )
        assert not Round.objects.filter(kind="dry_run").exists()
        walk.join(walk.manager.press(asked, "Open this dry run"), *NAMES)
        walk.work_by_program(NAMES[3])
        for expert in walk.experts.values():
            expert.opinion, expert.note_of = opinion, note
        walk.judge("dry run", "one", most=30)
        assert "Close it" not in walk.page("rounds/dry-run/1/").text.split("Close it without")[0]
        walk.look_around()
        walk.judge("dry run", "one")
        sample = {tail for expert in walk.experts.values() for tail in expert.said["dry run"]}
        assert len(sample) == 60
        relations = Item.objects.filter(tail__in=sample).values_list("relation", flat=True)
        assert set(relations) == set(RELATION_NAMES)
        closed = walk.manager.press(
            walk.page("rounds/dry-run/1/"), "Close it and compute the agreement", action="/1/close/"
        )
        self._ranks(closed, sample)
        assert "did not reach the gate" in closed.text
        plan = walk.manager.press(walk.page("assign/"), "Show the plan", members=walk.members(*NAMES))
        assert "Dry run 1 did not pass its gate" in plan.text
        assert "Give out these parts" not in plan.text
        assert not Part.objects.filter(round__kind="main").exists()
        walk.look_around()
        walk.manager.press(
            closed,
            "Go on with this reason",
            reason="The planted ones are known; the guidelines name them now.",
        )
        walk.holds("dry run")

    def _ranks(self, page: Page, sample: set[str]) -> None:
        """What was planted stands on top, in the order of import; then all else that was not answered alike."""
        said = [self.walk.experts[name].said["dry run"] for name in NAMES]
        expected = sorted((tail for tail in sample if planted(tail)), key=number)
        disputed = {tail for tail in sample if len({one[tail] for one in said}) > 1}
        shown = tails(page)
        assert len(expected) >= 3
        assert shown[: len(expected)] == expected
        assert set(shown) == disputed

    def change_guidelines(self) -> None:
        walk = self.walk
        walk.now("guidelines")
        page = walk.page("guidelines/versions/new/")
        walk.manager.press(
            page,
            "Store the new version",
            change_en="A chair that stands is a chair.",
            change_zh="能立住的椅子就是椅子。",
            text_en="Judge the chair.",
            text_zh="请判断椅子。",
        )
        for expert in walk.experts.values():
            change = expert.browser.get(f"/campaigns/{walk.slug}/judge/")
            assert "A chair that stands" in change.text
            assert "/guidelines/change/" in change.address
            onward = expert.browser.press(change, "I have read this: go on")
            assert onward.address.startswith(f"/campaigns/{walk.slug}/judge/")
        walk.holds("guidelines")

    def first_batch(self) -> None:
        walk = self.walk
        walk.now("first batch")
        walk.give_out(*NAMES, design="cyclic", sample=160)
        walk.judge("main", "two")
        walk.look_around()
        walk.hand_in(*NAMES)
        walk.run_jobs()
        found = of_main(walk.campaign)
        assert len(found) == 160
        assert Counter(tuple(sorted(pair)) for pair in found.values()) == Counter(
            {tuple(sorted((NAMES[p], NAMES[p - 1]))): 40 for p in range(4)}
        )
        walk.holds("first batch")

    def second_batch(self) -> None:
        """The rest by quotas; a part of it is judged, then repeats are drawn and the first batch is checked."""
        walk = self.walk
        walk.now("second batch")
        walk.give_out(*NAMES, design="quotas", quotas="2, 1, 1, 1")
        found = of_main(walk.campaign)
        assert len(found) == 340
        assert all(len(set(pair)) == 2 for pair in found.values())
        loads = Counter(name for pair in found.values() for name in pair)
        assert [loads[name] - 80 for name in NAMES] == [144, 72, 72, 72]
        walk.judge("main", "three", most=10)
        self._draw_repeats()
        self._spot_check()
        walk.now("second batch")
        walk.judge("main", "four")
        self._repeats_came()
        walk.look_around()
        walk.hand_in(*NAMES)
        walk.holds("second batch")

    def _draw_repeats(self) -> None:
        walk = self.walk
        look = walk.manager.press(walk.page("rounds/repeats/"), "Look at the plan", percent="6")
        assert not Round.objects.filter(kind="repeat").exists()
        walk.manager.press(look, "Draw these repeats")
        self.repeats = list(
            Assignment.objects.filter(round__kind="repeat").values_list("expert__username", "item__tail")
        )
        assert len(self.repeats) == 5
        assert {name for name, _tail in self.repeats} == {NAMES[0]}  # who alone has 200 units to come after
        walk.holds("repeats")
        expert = walk.experts[NAMES[0]]
        expert.look_around()
        for _name, tail in self.repeats:  # the originals are in no list until the repeat is judged
            assert tail not in tails(expert.find(tail))
            assert tail not in json.dumps(expert.call("recent/?count=200"))

    def _repeats_came(self) -> None:
        expert = self.walk.experts[NAMES[0]]
        assert set(expert.again) == {tail for _name, tail in self.repeats}
        for _name, tail in self.repeats:
            assert tail in tails(expert.find(tail))
        assert all(not other.again for name, other in self.walk.experts.items() if name != NAMES[0])
        self._nothing_tells_them_apart()

    def _nothing_tells_them_apart(self) -> None:
        """By no number that came with its screens could an expert find the repeats, or the gold, among the others."""
        for name in NAMES:
            shown = self.walk.experts[name].shown["main"]
            texts = [screen["rows"][0]["tail"] for screen in shown]
            repeats = {place for place, tail in enumerate(texts) if tail in texts[:place]}
            gold = {place for place, tail in enumerate(texts) if number(tail) in GOLD}
            assert len(repeats) == (5 if name == NAMES[0] else 0)
            for marked in (repeats, gold):
                found = told_apart(shown, marked) if len(marked) > 1 else {}
                assert not {field: how for field, how in found.items() if not 0.02 < how < 0.98}

    def _spot_check(self) -> None:
        walk = self.walk
        walk.now("spot check")
        added = walk.manager.press(
            walk.page("people/"), "Add", action="/people/add/", name=CHECKER, role="expert"
        )
        walk.join(added, CHECKER)
        checker = walk.experts[CHECKER]
        checker.opinion, checker.note_of = opinion, note
        (pk,) = walk.members(CHECKER)
        plan = walk.manager.press(
            walk.page("rounds/spot-check/new/"), "Show the plan", checker=pk, parts=["0", "1", "2", "3"], n=40
        )
        walk.manager.press(plan, "Open this spot check")
        assert "still to be judged" in walk.page("rounds/spot-check/1/").text
        checker.look_around()
        judged = checker.judge("check", "one")
        checker.look_around()
        checked = Assignment.objects.filter(round__kind="spot_check")
        assert sorted(judged) == sorted(checked.values_list("item__tail", flat=True))
        parts = checked.filter(unit__part_units__round__kind="main")
        assert Counter(parts.values_list("unit__part_units__part__index", flat=True)) == Counter(
            dict.fromkeys(range(4), 10)
        )
        report = json.loads(walk.page("rounds/spot-check/1/report.json").body)
        errors = {(row["expert"], row["key"]) for row in report["errors_found"]}
        assert errors == self._errors(judged)
        walk.manager.press(
            walk.page("rounds/spot-check/1/"),
            "Store the decision",
            decision="accept",
            reason="What was planted shows.",
        )
        walk.holds("spot check")

    def _errors(self, judged: list[str]) -> set[tuple[str, str]]:
        """Whose independent answer stands a whole point from the checker's."""
        called = dict(self.walk.campaign.memberships.values_list("user__username", "pseudonym"))
        return {
            (called[name], f"zqkey{number(tail):04}")
            for tail in judged
            for name in of_main(self.walk.campaign)[tail]
            if abs(float(opinion(name, tail)) - float(opinion(CHECKER, tail))) >= 1
        }

    def resolve(self) -> None:
        """Close, discuss, judge again; what comes up is what contrasts, and nothing else."""
        walk = self.walk
        walk.now("batches closed")
        walk.close_batches()
        walk.look_around()
        walk.holds("batches closed")
        pairs = of_main(walk.campaign)
        main = {
            tail: [walk.experts[name].said["main"][tail] for name in pair] for tail, pair in pairs.items()
        }
        contrasts = {tail for tail, scores in main.items() if set(scores) == {"0", "1"}}
        camps = {
            tail
            for tail, pair in pairs.items()
            if planted(tail) and len({NAMES.index(n) % 2 for n in pair}) == 2
        }
        assert camps <= contrasts
        assert len(camps) > 30
        walk.now("discussion")
        page = walk.page("rounds/resolution/")
        assert f"{len(contrasts)} items would be judged again" in page.text
        first = Item.objects.get(tail=min(camps, key=number))
        self._open(first.tail, pairs)
        thread = walk.manager.press(page, f"Discuss {first.position}")
        self._talk(thread, pairs[first.tail])
        walk.look_around()
        walk.now("resolution")
        walk.manager.press(walk.page("rounds/resolution/"), "Open the resolution")
        for tail in contrasts:
            self._open(tail, pairs)
        again = Assignment.objects.filter(round__kind="resolution")
        assert {tuple(sorted(names)) for names in again.values_list("item__tail", "expert__username")} == {
            tuple(sorted((tail, name))) for tail in contrasts for name in pairs[tail]
        }
        for expert in walk.experts.values():
            expert.opinion, expert.note_of = after_discussion, lambda name, text: f"{note(name, text)}-again"
        judged = walk.judge("again", "five", most=5)
        walk.look_around()
        judged = {name: [*some, *walk.experts[name].judge("again", "five")] for name, some in judged.items()}
        for name in self.all:
            assert sorted(judged[name]) == sorted(tail for tail in contrasts if name in pairs[tail])
        for expert in walk.experts.values():
            assert "Nothing is settled yet" in expert.browser.get(f"/campaigns/{walk.slug}/settled/").text
        for tail in contrasts:
            self._open(tail, pairs, again=True)
        walk.manager.press(walk.page("rounds/resolution/1/"), "Close it")
        walk.holds("resolution")
        self.pairs, self.contrasts, self.main = pairs, contrasts, main

    def _open(self, tail: str, pairs: dict[str, list[str]], *, again: bool = False) -> None:
        """From now on the experts of this item may see each other's notes on it."""
        for name in pairs[tail]:
            notes = {note(other, tail) for other in pairs[tail]} - {""}
            if again:
                notes |= {f"{note(other, tail)}-again" for other in pairs[tail]}
            self.walk.watch.open_to.setdefault(name, set()).update(notes)

    def _talk(self, thread: Page, pair: list[str]) -> None:
        walk = self.walk
        watch = walk.watch
        for name in pair:
            said = f"zqsaid{NAMES.index(name)}"
            watch.secret.add(said)
            for other in pair:
                watch.open_to.setdefault(other, set()).add(said)
            expert = walk.experts[name].browser
            page = expert.press(expert.get(thread.address), "Say it", text=said)
            assert said in page.body
        both = walk.manager.get(thread.address)
        assert all(f"zqsaid{NAMES.index(name)}" in both.body for name in pair)
        for name in set(self.all) - set(pair):
            walk.experts[name].is_kept_out([thread.address])

    def arbitrate(self) -> None:
        walk = self.walk
        walk.now("arbitration")
        self.left = {tail for tail in self.contrasts if stubborn(tail)}
        assert self.left
        page = walk.page("rounds/resolution/")
        assert set(tails(page)) == self.left
        self.decided = min(self.left, key=number)
        item = Item.objects.get(tail=self.decided)
        for name in self.pairs[self.decided]:
            walk.watch.open_to[name].add(ARBITER)
        walk.manager.press(walk.page(f"items/{item.pk}/decide/"), "Decide", label="1", reason=ARBITER)
        assert Arbitration.objects.count() == 1
        looked = walk.look_around()
        for name in NAMES:
            assert set(tails(looked[name]["settled"])) == self._settled_against(name)
        assert (
            ARBITER
            in looked[self.pairs[self.decided][0]]["settled"].body
            + looked[self.pairs[self.decided][1]]["settled"].body
        )
        walk.holds("arbitration")

    def _settled_against(self, name: str) -> set[str]:
        found = set()
        for tail in self.contrasts:
            if name not in self.pairs[tail]:
                continue
            own = opinion(name, tail)
            scores = {after_discussion(other, tail) for other in self.pairs[tail]}
            if tail == self.decided:
                against = own != "1"
            elif len(scores) == 1:
                against = own not in scores
            else:
                against = (own == "1") != (ckbp2(list(scores)) == "1")
            if against:
                found.add(tail)
        return found

    def label(self) -> None:
        """Final labels, and every paper about them."""
        walk = self.walk
        walk.now("labels")
        walk.compute()
        effective = {
            tail: [
                walk.experts[name].said["again" if tail in self.contrasts else "main"][tail] for name in pair
            ]
            for tail, pair in self.pairs.items()
        }
        expected = {tail: ckbp2(scores) for tail, scores in effective.items()}
        assert expected[self.decided] == "0"
        expected[self.decided] = "1"
        stored = dict(FinalLabel.objects.values_list("item__tail", "label"))
        assert stored == expected
        rows = walk.export("labels")
        assert {
            f"the chair {number(row['triple_id']):03} stands again": row["label"] for row in rows
        } == expected
        annotations = walk.export("annotations")
        given = Annotation.objects.filter(assignment__round__kind="main").count()
        assert len(annotations) >= given == 680
        assert not {NAMES[0], CHECKER} & {row["annotator"] for row in annotations}
        assert len(walk.export("items")) == 340
        looked = walk.look_around()
        assert all(looked)
        for expert in walk.experts.values():
            expert.is_kept_out(f"/campaigns/{walk.slug}/{path}" for path in CLOSED_TO_EXPERTS)
        walk.holds("labels")

    def report(self) -> None:
        walk = self.walk
        agreement = walk.page("reports/agreement/")
        document = json.loads(walk.page("reports/agreement.json").body)
        assert document["n_items"] == 340
        alike = sum(len(set(scores)) == 1 for scores in self.main.values())
        assert document["coefficients"]["raw"]["value"] == pytest.approx(alike / 340)
        assert "after" in agreement.text
        methods = walk.page("reports/methods/").text
        assert "triples of head, relation and tail: 340" in methods
        assert "In dry run 1, 4 experts judged the same 60 units" in methods
        assert "gone on with a reason" in methods
        assert "Judgements by version of the guidelines: version 2: 680" in methods
        gold = json.loads(walk.page("gold/figures.json").body)
        assert gold["n_gold"] == 3
        actions = set(AuditEntry.objects.values_list("action", flat=True))
        assert {"label decided by an arbiter", "items opened to discussion"} <= actions


CLOSED_TO_EXPERTS = (
    "", "settings/", "verify/", "items/", "batches/", "rounds/", "rounds/dry-run/1/", "rounds/resolution/1/",
    "rounds/spot-check/1/", "rounds/repeats/", "gold/", "people/", "progress/", "audit/", "moves/", "assign/",
    "reports/", "reports/agreement/", "reports/methods/", "labels/what-if/", "export/labels.csv",
    "export/annotations.csv", "jobs/", "attention/", "questions/",
)  # fmt: skip


def test_a_campaign_of_triples_from_the_file_to_the_labels(manager: Browser) -> None:
    walked = Triples(manager)
    walked.prepare()
    walked.dry_run()
    walked.change_guidelines()
    walked.first_batch()
    walked.second_batch()
    walked.resolve()
    walked.arbitrate()
    walked.label()
    walked.report()


# Compounds

TWO = NAMES[:2]
SYSTEM, COMPOUNDS = "zqtranslator", 24


def place_of(text: str) -> tuple[int, int]:
    """Compound and context of a translation."""
    unit, context = re.findall(r"\d+", text)
    return int(unit), int(context)


def right(text: str) -> str:
    unit, context = place_of(text)
    return "0" if (unit + context) % 7 == 0 else "1"


def tied(text: str) -> bool:
    """Where the second expert is planted to say the opposite."""
    unit, context = place_of(text)
    return unit % 6 == 0 and context in (2, 3)


def verdict(name: str, text: str) -> str:
    return right(text) if name == TWO[0] or not tied(text) else str(1 - int(right(text)))


def verdict_again(name: str, text: str) -> str:
    """They come to agree, but on one."""
    return verdict(name, text) if place_of(text) == (COMPOUNDS, 3) else right(text)


def test_a_campaign_of_compounds_with_two_experts(manager: Browser) -> None:
    walk = Walk("gardens", manager)
    walk.now("preparation")
    walk.new_campaign("Gardens", "compound", 2)
    rows = compounds(COMPOUNDS, system=SYSTEM)
    walk.import_items(rows)
    walk.watch.secret |= {SYSTEM, "zqrun"}
    walk.manager.press(walk.page("people/"), "Add", action="/people/add/", name=IDLE, role="expert")
    plan = walk.manager.press(
        walk.page("assign/"), "Show the plan", members=[], names=", ".join(TWO), design="cyclic"
    )
    walk.join(walk.manager.press(plan, "Give out these parts"), *TWO)
    for expert in walk.experts.values():
        expert.opinion = verdict
        expert.note_of = lambda name, text: f"zqnote{TWO.index(name)}-{text[-12:]}" if tied(text) else ""
    walk.now("judging")
    walk.judge("main", "one", most=10)
    walk.look_around()
    walk.judge("main", "two")
    walk.hand_in(*TWO)
    walk.holds("judging")
    walk.now("batch closed")
    walk.close_batches()
    walk.look_around()
    walk.holds("batch closed")

    walk.now("resolution")
    ties = {str(row["translation"]) for row in rows if tied(str(row["translation"]))}
    assert len(ties) == 8
    assert "8 items would be judged again" in walk.page("rounds/resolution/").text
    walk.manager.press(walk.page("rounds/resolution/"), "Open the resolution")
    given = Assignment.objects.filter(round__kind="resolution")
    assert sorted(given.values_list("item__translation", "expert__username")) == sorted(
        (text, name) for text in ties for name in TWO
    )
    for name in TWO:
        walk.watch.open_to[name] = {note for notes in walk.watch.notes.values() for note in notes}
    for expert in walk.experts.values():
        expert.opinion = verdict_again
        expert.note_of = lambda name, text: f"zqagain{TWO.index(name)}-{text[-12:]}"
    walk.judge("again", "three")
    walk.look_around()
    assert all(set(expert.said["again"]) == ties for expert in walk.experts.values())
    for name in TWO:
        walk.watch.open_to[name] = {note for notes in walk.watch.notes.values() for note in notes}
    walk.manager.press(walk.page("rounds/resolution/1/"), "Close it")
    walk.look_around()
    walk.holds("resolution")

    walk.now("labels")
    walk.compute()
    walk.look_around()
    stored = {
        text: (label, reason)
        for text, label, reason in FinalLabel.objects.values_list("item__translation", "label", "reason")
    }
    still = {text for text in ties if place_of(text) == (COMPOUNDS, 3)}
    texts = [str(row["translation"]) for row in rows]
    assert stored == {text: ("", "tie") if text in still else (right(text), "") for text in texts}
    rates = json.loads(walk.page("reports/error-rates.json").body)
    assert rates["instance"]["errors"] == sum(right(text) == "0" for text in texts if text not in still)
    assert rates["instance"]["n"] == 119
    for expert in walk.experts.values():
        expert.is_kept_out(
            f"/campaigns/{walk.slug}/{path}" for path in ("", "items/", "reports/error-rates/")
        )
    walk.holds("labels")


# The watch itself


@pytest.fixture
def watched() -> Expert:
    """Ada, who has judged one of two triples, as has Lin, and is looked at from now on."""
    cast = make_cast()
    make_judged(cast, ("1", "0"), (None, "0"))
    watch = Watch(names={"ada": {"ada"}, "lin": {"lin"}}, notes={"lin": {"note-2-of-1", "note-2-of-2"}})
    judged = Assignment.objects.get(expert=cast.ada, answered_at__isnull=False)
    watch.own["ada", seat_number(judged)] = "often"
    client = Client()
    client.force_login(cast.ada, "django.contrib.auth.backends.ModelBackend")
    return Expert("ada", Browser(client, watch.receiver("ada")), watch, "main", opinion)


def test_the_watch_says_nothing_where_nothing_leaks(watched: Expert) -> None:
    watched.look_around()
    assert watched.watch.seen.total() >= 20


def leaks() -> list[Any]:
    """What a screen's row might be made to hold, and how an expert would come by it."""
    row = screens._triple_row

    def with_(**more: str) -> Any:
        return "_triple_row", lambda given: row(given) | more

    return [
        pytest.param(*with_(**{"class": "adv"}), id="class"),
        pytest.param(*with_(split="test"), id="split"),
        pytest.param(*with_(gold="1"), id="gold"),
        pytest.param(*with_(first="0.5"), id="any other member"),
        pytest.param(*with_(head="lin says no"), id="name"),
        pytest.param(*with_(tail="note-2-of-2"), id="note"),
        pytest.param("_answer", lambda given, *, protocol: {"label": "rarely"}, id="another's answer"),
    ]


@pytest.mark.parametrize(("function", "leaking"), leaks())
@pytest.mark.parametrize("way", ["next/?count=5", "recent/", "/campaigns/main/judge/"])
def test_the_watch_finds_a_leak(
    function: str, leaking: Any, way: str, watched: Expert, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(screens, function, leaking)
    with pytest.raises(Leak):
        watched.browser.get(way) if way.startswith("/") else watched.call(way)


@pytest.mark.parametrize("way", ["next/?count=5", "recent/", "/campaigns/main/judge/"])
def test_the_watch_finds_a_primary_key(way: str, watched: Expert, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screens, "number_of", lambda row, *, expert: row)
    with pytest.raises(Leak, match="as the database does"):
        watched.browser.get(way) if way.startswith("/") else watched.call(way)


@pytest.mark.parametrize(
    "body",
    [
        '<input name="revision-17" value="0">',
        '<tr class="gold">',
        '<li data-repeat="1">',
        "<p>A2 says no</p>",
        '<p title="zqsecret">',
        "<p>zqnote-2</p>",
    ],
)
def test_the_watch_finds_marks_and_names_on_pages(body: str) -> None:
    watch = Watch(
        secret={"zqsecret"}, names={"ada": {"ada", "A1"}, "lin": {"lin", "A2"}}, notes={"lin": {"zqnote-2"}}
    )
    assert list(watch.problems("ada", "text/html; charset=utf-8", body))
    assert not list(watch.problems("ada", "text/html", "<p>A1 and A22: gold and linen, again</p>"))
    watch.open_to["ada"] = {"zqnote-2"}
    assert not list(watch.problems("ada", "text/html", "<p>zqnote-2</p>"))


def test_the_watch_reads_no_name_into_a_signature() -> None:
    watch = Watch(names={"lin": {"lin", "A2"}})
    signed = f"1764590000.123:A2-{'x' * 36}-lin"
    form = f'<input type="hidden" name="painted" value="{signed}">'
    assert not list(watch.problems("ada", "text/html", form))
    assert list(watch.problems("ada", "text/html", f"{form}<p>A2</p>"))
    assert list(watch.problems("ada", "text/html", form.replace("painted", "note")))
