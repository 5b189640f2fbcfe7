"""A campaign in which some translations render their compound alike: who would judge them, and what they would say."""

from pathlib import Path
from typing import Any

from annotation.models import Assignment, Campaign, Item
from annotation.protocol.carry_over import plain
from annotation.services.carry_over import CarryWish
from annotation.services.parts import assign_parts
from tests.material import load_rows, new_campaign

DETERMINERS = {"another": "另一", "any": "任何", "every": "每"}
ADJECTIVES = {"small": "小", "red": "红"}
NOUNS = {"dog": "狗", "waiter": "服务员"}
LEXICON = "".join(
    f"{atom}\t{form}\n" for kind in (DETERMINERS, ADJECTIVES, NOUNS) for atom, form in kind.items()
)
FORMS = {atom: [form] for kind in (DETERMINERS, ADJECTIVES, NOUNS) for atom, form in kind.items()}
PHRASES = [(d, a, n) for d in DETERMINERS for a in ADJECTIVES for n in NOUNS]
N, CONTEXTS = len(PHRASES), 5


def rows(*, rest: str, wrong: int = 0, otherwise: int = 0) -> list[dict[str, object]]:
    """A system's outputs: every compound in five sentences that end as `rest` says.

    Every `wrong`-th context has the compound in a wrong order, every `otherwise`-th in another, right rendering.
    """
    found: list[dict[str, object]] = []
    for unit, (det, adj, noun) in enumerate(PHRASES):
        for number in range(1, CONTEXTS + 1):
            place = unit * CONTEXTS + number
            text = f"{DETERMINERS[det]}个{ADJECTIVES[adj]}{NOUNS[noun]}"
            if otherwise and place % otherwise == 0:
                text = f"{DETERMINERS[det]}个{ADJECTIVES[adj]}的{NOUNS[noun]}"
            if wrong and place % wrong == 0:
                text = f"{NOUNS[noun]}{ADJECTIVES[adj]}{DETERMINERS[det]}"
            found.append(
                {
                    "item_id": f"c{unit + 1}-{number}",
                    "compound": f"{det} {adj} {noun}",
                    "context_no": number,
                    "source": f"{number} times {det} {adj} {noun} waved .",
                    "translation": f"{text}第{number}次{rest}",
                }
            )
    return found


def truth(item: Item) -> str:
    """What everybody judges: a compound whose noun comes first is wrong, whatever stands around it."""
    text = plain(item.translation)
    return "0" if any(text.startswith(noun) for noun in NOUNS.values()) else "1"


def says(row: Assignment) -> str:
    return truth(row.item)


def wish(percent: float = 10) -> CarryWish:
    return CarryWish(forms=FORMS, percent=percent)


def two_systems(folder: Path, *, slug: str = "main", k: int = 1) -> Campaign:
    """Nothing is given out yet. The systems differ in all 60 contexts; in 8 both are wrong, and in 11 of the others the
    second renders the compound otherwise.
    """
    made = new_campaign("compound", slug=slug, k=k)
    load_rows(made, rows(rest="挥手。", wrong=7), folder, system="base")
    load_rows(made, rows(rest="招了招手！", wrong=7, otherwise=5), folder, system="later")
    return made


def give_out(campaign: Campaign, **more: Any) -> None:
    """To Ada, or to Ada and Bo by turns."""
    k = campaign.annotators_per_item
    experts, design = (["ada"], "single") if k == 1 else (["ada", "bo", "chen"], "cyclic")
    assign_parts(campaign, experts=experts, design=design, seed=3, **more)


def lexicon_at(folder: Path) -> Path:
    path = folder / "lexicon.txt"
    path.write_text(LEXICON, encoding="utf-8")
    return path
