"""Repeats made elsewhere: an expert's judgements of items that the same expert judged before, in a round of their own.

Nobody opens such a round for work: it is closed as soon as it is there, and holds answers only. A repeat stands in
the slot that its author has in the main round, so that several experts may repeat one item.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from annotation.formats.errors import RowIssue
from annotation.models import Assignment, Campaign, Round
from annotation.protocol.sentences import say
from annotation.services.judgement_compare import Standing, batches
from annotation.services.judgement_items import ItemJudgements
from annotation.services.judgement_report import JudgementReport


def repeat_round(campaign: Campaign) -> Round:
    """The campaign's round of repeats; one that is not stored yet where there is none."""
    main = campaign.rounds.get(kind=Round.Kind.MAIN, number=1)
    return campaign.rounds.filter(kind=Round.Kind.REPEAT, number=1).first() or Round(
        campaign=campaign,
        kind=Round.Kind.REPEAT,
        k=main.k,
        state=Round.State.CLOSED,
        guideline_id=main.guideline_id,
    )


def stored(round_: Round) -> Round:
    """The round as a row; another import may have stored it in the meantime."""
    if round_.pk:
        return round_
    values = {"k": round_.k, "state": round_.state, "guideline_id": round_.guideline_id}
    found, _made = Round.objects.get_or_create(
        campaign_id=round_.campaign_id, kind=round_.kind, number=round_.number, defaults=values
    )
    return found


def standing_of(round_: Round, judged: Sequence[ItemJudgements], experts: Mapping[str, int]) -> Standing:
    """How the round stands; empty while it is not stored."""
    if round_.pk:
        return Standing.of(round_, judged, experts)
    return Standing(round_.k, experts, {}, defaultdict(set), {})


def as_repeats(
    campaign: Campaign, judged: Sequence[ItemJudgements], experts: Mapping[str, int], report: JudgementReport
) -> list[ItemJudgements]:
    """The judgements in their authors' slots; what is no repeat, since nothing came before it, is reported."""
    slots = _slots(campaign, judged, experts)
    found: list[ItemJudgements] = []
    for one in judged:
        slot = slots.get((one.item, experts.get(one.annotator, 0)))
        if slot is None:
            message = say(
                "{name} has not judged this item in the main round, so this is no repeat; import that judgement first.",
                name=one.rows[0].annotator.strip(),
            )
            report.errors.append(RowIssue(one.rows[0].line, "annotator", message))
        elif one.slot not in (None, slot):
            message = say(
                "{name} has slot {slot} of this item, not slot {other}.",
                name=one.rows[0].annotator.strip(),
                slot=slot,
                other=one.slot,
            )
            report.errors.append(RowIssue(one.rows[0].line, "slot", message))
        else:
            found.append(replace(one, rows=tuple(replace(row, slot=slot) for row in one.rows)))
    report.errors.sort(key=lambda issue: issue.line or 0)
    return found


def _slots(
    campaign: Campaign, judged: Sequence[ItemJudgements], experts: Mapping[str, int]
) -> dict[tuple[int, int], int]:
    """Of each item and expert who answered it in the main round, the slot."""
    answered = Assignment.objects.filter(
        round__campaign=campaign,
        round__kind=Round.Kind.MAIN,
        expert__in=experts.values(),
        withdrawn_at__isnull=True,
        answered_at__isnull=False,
    )
    return {
        (item, expert): slot
        for items in batches(sorted({one.item for one in judged}))
        for item, expert, slot in answered.filter(item__in=items).values_list("item", "expert", "slot")
    }
