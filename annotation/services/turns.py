"""Whose turn it is: what managers change about a campaign's work comes one after the other.

Giving out, moving, withdrawing, closing, opening to discussion and settling look at one table and write another. Two of
them at once would each decide on what the other is about to change, and no constraint of the database could tell. So
each takes the campaign's turn first, and reads what it decides on after that. Saving an answer takes no turn: the rows
themselves decide there (`answers_sql`).
"""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction

from annotation.models import Campaign


@contextmanager
def turn(campaign: Campaign | int) -> Iterator[None]:
    """A transaction in which nobody else has the campaign's turn; the next one waits until it ends.

    Within a turn it is the same one. Who needs the turn of several campaigns takes them in the order of their numbers.
    On SQLite every transaction that writes has the turn of all campaigns.
    """
    number = campaign if isinstance(campaign, int) else campaign.pk
    with transaction.atomic():
        # Not FOR UPDATE: rows that refer to the campaign can be stored meanwhile.
        Campaign.objects.select_for_update(no_key=True).values_list("pk").get(pk=number)
        yield
