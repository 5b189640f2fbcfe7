"""The statistics themselves, inside a site's process: seconds, and the most memory the process took."""

import resource
import time
from collections.abc import Callable

import numpy as np

from annotation.models import Campaign
from benchmarks.site import SLUG
from benchmarks.stats import COMPOUNDS, RESAMPLES
from scoring.services.measure import Options, report
from scoring.stats.error_rates import Instances, error_rates


def run(kind: str) -> dict[str, float]:
    """Prepare and run one of them."""
    measured = {"error-rates": _error_rates, "agreement": _agreement}[kind]()
    start = time.perf_counter()
    measured()
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def _error_rates() -> Callable[[], object]:
    rng = np.random.default_rng(1)
    of_compound = {
        "type": rng.choice(["NP", "VP", "PP"], COMPOUNDS),
        "pattern": rng.choice([f"P{number}" for number in range(8)], COMPOUNDS),
        "words": rng.choice(["3", "4", "5", "6"], COMPOUNDS),
        "atoms": rng.choice(["2", "3", "4"], COMPOUNDS),
    }
    instances = Instances(
        unit=np.repeat(np.array([f"c{number}" for number in range(COMPOUNDS)], dtype=object), 5),
        context=np.arange(COMPOUNDS * 5),
        verdict=(rng.random(COMPOUNDS * 5) > 0.25).astype(np.int8),
        cannot_judge=np.zeros(COMPOUNDS * 5, dtype=np.bool_),
        facets={name: np.repeat(values.astype(object), 5) for name, values in of_compound.items()},
    )
    return lambda: error_rates(instances, labels="bench", resamples=RESAMPLES)


def _agreement() -> Callable[[], object]:
    campaign = Campaign.objects.get(slug=SLUG)
    return lambda: report(campaign, "agreement", Options(resamples=RESAMPLES))
