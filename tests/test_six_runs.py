"""Six runs on the released noun phrases, judged once: what is asked for and what is counted, and a seventh later.

The outputs are the references with planted changes; what is right is decided by the text alone, so that judging every
output by itself must come to the same.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from annotation.models import Assignment, Campaign, Output
from annotation.services.import_compare import text_digest
from annotation.services.later_batches import later_draws
from annotation.services.parts import assign_parts
from annotation.services.verify import verify
from scoring.services.measure import report
from scoring.services.options import Options
from tests.material import answer_everything, load_rows, new_campaign, run_json
from tests.shared import shared

pytestmark = pytest.mark.django_db

COMPOUNDS = 72
RUNS = [("base", str(seed)) for seed in range(1, 4)] + [("large", str(seed)) for seed in range(1, 4)]
SEVENTH = ("later", "1")
PLANTED = 0.2  # of what is right before is called wrong in the later batch


def chance(*of: object) -> float:
    """Between 0 and 1, and the same for the same."""
    return int.from_bytes(hashlib.sha256(repr(of).encode()).digest()[:6], "big") / 2**48


@pytest.fixture(scope="module")
def lines() -> list[tuple[str, str, str]]:
    """Source, compound and reference of the first compounds."""
    columns = [
        shared(f"data/cognition/NP.{name}").read_text(encoding="utf-8").splitlines()
        for name in ("en", "compound", "zh")
    ]
    return list(zip(*(column[: 5 * COMPOUNDS] for column in columns), strict=True))


def outputs(lines: list[tuple[str, str, str]], run: tuple[str, str]) -> list[dict[str, object]]:
    """A run's rows: a fifth of them changed, some as other runs have it, and blanks where they say nothing."""
    rows: list[dict[str, object]] = []
    for place, (source, compound, reference) in enumerate(lines):
        text = reference
        if chance("changed", run, place) < 0.2:
            text = reference.replace("。", "") + "了" * (1 + int(3 * chance("how", run, place))) + "。"
        elif chance("blank", run, place) < 0.3:
            text = " ".join(reference)  # the same text after normalisation
        rows.append(
            {
                "item_id": f"NP-{place + 1:04}", "compound": compound, "context_no": place % 5 + 1,
                "source": source, "translation": text, "reference": reference,
            }
        )  # fmt: skip
    return rows


def verdict(row: Assignment) -> str:
    """What is wrong is wrong whoever produced it: a third of the changed texts, and few of the others."""
    context = row.item.context
    assert context is not None
    changed = "了。" in row.item.translation and row.item.translation != context.reference
    return "0" if chance("wrong", row.item.key, row.item.digest) < (0.4 if changed else 0.08) else "1"


def later(row: Assignment) -> str:
    """The same experts, stricter."""
    return "0" if verdict(row) == "0" or chance("strict", row.item.key, row.item.digest) < PLANTED else "1"


def loaded(
    lines: list[tuple[str, str, str]], folder: Path, *runs: tuple[str, str], slug: str = "main"
) -> Campaign:
    campaign = new_campaign("compound", slug=slug, k=1)
    for system, run in runs:
        load_rows(campaign, outputs(lines, (system, run)), folder, system=system, run=run)
    return campaign


def rates(campaign: Campaign, run: tuple[str, str]) -> dict[str, Any]:
    """What the report of error rates counts, without what is drawn."""
    document = report(campaign, "error-rates", Options(system=run[0], run=run[1]))
    names = ("n_items", "cannot_judge", "wrong_contexts_histogram")
    shares = {
        name: {key: document[name][key] for key in ("n", "errors", "percent", "ci95")}
        for name in ("instance", "aggregate", "all_contexts_wrong")
    }
    return {name: document[name] for name in names} | shares


def distinct(lines: list[tuple[str, str, str]], runs: list[tuple[str, str]]) -> set[tuple[object, str]]:
    return {
        (row["item_id"], text_digest(str(row["translation"]))) for run in runs for row in outputs(lines, run)
    }


def everything(lines: list[tuple[str, str, str]], folder: Path) -> Iterator[tuple[tuple[str, str], Campaign]]:
    """Each run in a campaign of its own, every output judged."""
    for number, run in enumerate(RUNS):
        alone = loaded(lines, folder, run, slug=f"alone-{number}")
        assign_parts(alone, experts=["ada"], design="single", seed=1)
        answer_everything(alone, verdict)
        yield run, alone


def test_six_runs_are_judged_once_and_a_seventh_adds_what_is_new(
    lines: list[tuple[str, str, str]], tmp_path: Path
) -> None:
    campaign = loaded(lines, tmp_path, *RUNS)
    asked = ("assign_parts", campaign.slug, "--experts", "ada,lin")
    wanted = distinct(lines, RUNS)

    counts = run_json(*asked, "--preview")["outputs"]
    assert (counts["instances"], counts["items"]) == (6 * len(lines), len(wanted))
    assert counts["saved_judgements"] == 6 * len(lines) - len(wanted)
    run_json(*asked)
    given = Assignment.objects.filter(round__campaign=campaign)
    assert sorted(given.values_list("item__key", "item__digest")) == sorted(wanted)  # each once
    answer_everything(campaign, verdict)

    for run, alone in everything(lines, tmp_path):
        assert rates(campaign, run) == rates(alone, run)
        bleu = Options(system=run[0], run=run[1])
        assert report(campaign, "bleu", bleu)["score"] == report(alone, "bleu", bleu)["score"]

    load_rows(campaign, outputs(lines, SEVENTH), tmp_path, system=SEVENTH[0], run=SEVENTH[1])
    new = distinct(lines, [SEVENTH]) - wanted
    document = run_json(*asked, "--again", "40")
    waiting = given.filter(answered_at=None)
    assert set(waiting.filter(round__kind="main").values_list("item__key", "item__digest")) == new
    (draw,) = later_draws(campaign)
    again = set(waiting.filter(round=draw).values_list("item__key", "item__digest"))
    assert waiting.count() == len(new) + len(again) == len(new) + document["later"]["n_items_again"]
    assert again <= wanted
    answer_everything_open(campaign)
    assert verify(campaign) == []

    found = report(campaign, "comparison", Options(texts=False))["judging"]
    pooled = found["shift"]["pooled"]
    assert pooled["n"] == len(again)
    low, high = pooled["ci95"]
    right = sum(verdict(row) == "1" for row in given.filter(round=draw)) / len(again)
    assert low <= 100 * PLANTED * right <= high
    assert low > 0  # the shift is seen
    assert {(one["a"], one["b"]) for one in found["pairs"]} == {("base", "later"), ("large", "later")}
    of_seventh = Output.objects.filter(
        system__name="later", item__digest__in=[digest for _key, digest in new]
    )
    for one in found["pairs"]:
        assert 0 < one["other_batches"] <= one["contexts"] == len(lines)
        assert one["other_batches"] >= of_seventh.count() - 1


def answer_everything_open(campaign: Campaign) -> None:
    """What is open is judged in the later batch; what was judged stays as it is."""
    answered = dict(
        Assignment.objects.filter(round__campaign=campaign, answered_at__isnull=False).values_list(
            "pk", "label"
        )
    )
    answer_everything(campaign, lambda row: answered.get(row.pk) or later(row))
