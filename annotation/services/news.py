"""What is new for an expert since they last looked, for the page on which they begin."""

from dataclasses import dataclass

from annotation.models import Membership
from annotation.services.counts import counts
from annotation.services.discussion import with_news
from annotation.services.questions import answered_unread
from annotation.services.settled import is_open_by, rounds_again


@dataclass(frozen=True, kw_only=True)
class News:
    """Answers to their questions and discussions that they have not read; whether they may see what was settled."""

    answers: int
    threads: int
    settled: bool


def news_for(member: Membership) -> News:
    """One query."""
    found = counts(
        answers=answered_unread(member.campaign_id, member.user_id),
        threads=with_news(member),
        **rounds_again(member.campaign),
    )
    return News(answers=found["answers"], threads=found["threads"], settled=is_open_by(found))
