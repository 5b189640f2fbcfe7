"""The wording a campaign uses: the protocol's own, or what its managers put in its place.

The one way to it is `wording_of`. Saving an answer does not come here: which reasons there are it reads with the
place of the sheet (`answers_sql`).
"""

import json
from functools import lru_cache

from annotation.models import Campaign
from annotation.protocol.wording import Wording, read_wording


def wording_of(campaign: Campaign) -> Wording:
    """What this campaign calls its relations, answers, reasons and groups of classes. No query."""
    return _read(campaign.protocol, json.dumps(campaign.wording))


@lru_cache(maxsize=32)
def _read(protocol: str, stored: str) -> Wording:
    return read_wording(protocol, json.loads(stored))
