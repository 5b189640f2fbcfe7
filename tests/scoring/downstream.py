"""Benchmarks of questions and what models say to them, small enough to be worked out by hand."""

from annotation.models import Campaign, User
from scoring.models import Benchmark, BenchmarkSubmission
from scoring.services.benchmarks import add_benchmark, read_sent, store_sent

GOLD = "question_id,gold,options,skill\n" + "".join(
    f'q{place},A,"[""A"", ""B"", ""C""]",{"time" if place <= 12 else "place"}\n' for place in range(1, 21)
)
PAIRS = (
    "head,relation,reference\n"
    "PersonX eats pizza,xWant,to drink water\n"
    "PersonX eats pizza,xWant,to sleep well\n"
    "PersonX runs,xEffect,gets tired\n"
    "PersonX runs,xEffect,sweats a lot\n"
    "PersonX sings,xAttr,musical\n"
)
SAID = (
    "head,relation,hypothesis\n"
    "PersonX sings,xAttr,musical\n"
    "PersonX eats pizza,xWant,to drink a beer\n"
    "PersonX runs,xEffect,gets very tired\n"
)


def choices_benchmark(campaign: Campaign, name: str = "csqa", *, gold: str = GOLD) -> Benchmark:
    """Twenty questions, A is right in all of them."""
    return add_benchmark(
        campaign, gold.encode(), file_name="gold.csv", name=name, kind="choice", by=None
    ).benchmark


def pairs_benchmark(campaign: Campaign, name: str = "atomic", *, hypotheses: str = "first") -> Benchmark:
    """Three heads with their relations, five references."""
    added = add_benchmark(
        campaign,
        PAIRS.encode(),
        file_name="refs.csv",
        name=name,
        kind="generation",
        hypotheses=hypotheses,
        by=None,
    )
    return added.benchmark


def chosen(right: int, *, wrong: str = "B", n: int = 20) -> str:
    """The first so many right."""
    rows = (f"q{place},{'A' if place <= right else wrong}\n" for place in range(1, n + 1))
    return "question_id,choice\n" + "".join(rows)


def send(
    benchmark: Benchmark,
    text: str,
    system: str,
    run: str = "",
    *,
    human: bool = False,
    by: User | None = None,
) -> BenchmarkSubmission:
    """What a model says, checked and stored, not scored yet."""
    sent = read_sent(benchmark, text.encode(), file_name="sent.csv")
    stored = store_sent(benchmark, sent, file_name="sent.csv", system=system, run=run, human=human, by=by)
    return stored.submission
