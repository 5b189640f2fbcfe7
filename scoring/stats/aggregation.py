"""Labels from several experts' answers: majority, Dawid and Skene's model, MACE.

A label rule counts votes. A label model asks besides who is how reliable: it takes the true label of an item for
unknown, an expert's answer for drawn from a distribution that depends on it, and estimates both from how experts
answer the same items.

- **Majority**: the category that most of an item's answers name; a tie is undecided.
- **Dawid–Skene**: shares of the true categories (class priors), and for each expert a confusion matrix: how often they
  answer *a* where *t* is true. Maximum likelihood by EM, started from each item's shares of answers. Source: Dawid and
  Skene (1979), Applied Statistics 28, 20–28.
- **MACE**: an expert knows the true label with probability θ (their competence) and else answers from a habit ξ of
  their own, whatever is true; all categories are equally likely to be true. EM, as in the paper's section 3, with its
  program's smoothing: 0.01 / categories is added to every expected count of θ and of ξ, a Dirichlet prior. (The
  variational variant of the paper is not offered.) Source: Hovy, Berg-Kirkpatrick, Vaswani and Hovy (2013), Learning
  Whom to Trust with MACE, NAACL-HLT, 1120–1130.

**What the answers cannot tell.** With two answers an item, shares of categories and experts' errors trade off against
each other without changing the likelihood: Dawid and Skene's model then has no single best answer, whatever the
number of items, and where the search starts decides. MACE, with equal shares, needs three experts who share items in
pairs. `warnings` says where this is so. Sources: Hui and Walter (1980), Biometrics 36, 167–171; Kruskal (1977), Linear
Algebra and its Applications 18, 95–138.

Items that look alike are one row with a weight: a million items of two answers cost what their few patterns cost.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from annotation.protocol.sentences import say
from scoring.stats.agreement_table import MISSING, Ratings, one_row_per_kind

Name = Literal["majority", "dawid-skene", "mace"]
Floats = NDArray[np.float64]

UNDECIDED = -1
STEPS = 1000
TOLERANCE = 1e-8  # of the log-likelihood, per answer
RESTARTS = 4
_SMOOTHING = 0.01  # of MACE, over the number of categories
_TIE = 1e-6
_TINY = 1e-300

NO_ANSWER = say("no item has an answer")
ONE_ITEM = say("fewer than two items have an answer")
ONE_EXPERT = say("one expert alone: nothing to compare the answers with")
NO_OVERLAP = say("no item has answers of two experts, so nothing tells who is reliable")
ONE_CATEGORY = say("all answers are the same, so nothing tells who is reliable")
OF_NOBODY = say("no answer")
TWO_AN_ITEM = say(
    "No item has three answers. Two an item cannot tell the shares of the labels from the experts' errors: under this "
    "model many solutions fit equally well, and which is found depends on where the search starts."
)
NO_TRIANGLE = say(
    "Not every expert shares items with two others who share items too. Their competences can then be traded against "
    "each other, and which are found depends on where the search starts."
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Competence:
    """What is told of one expert, over their `n` answers.

    Attributes:
        value: 0 to 1. Majority: the share of their answers that equal the label, where there is one. Dawid–Skene: how
            often they answer what is true, over the estimated shares of the categories. MACE: θ.
        confusion: (categories, categories), row t: how often they answer each category where t is true; None for
            majority. A row is None where the model takes nothing they judged for t.
        reason: why there is no value.
    """

    n: int
    value: float | None
    confusion: list[list[float] | None] | None = None
    reason: str | None = None

    def as_json(self) -> dict[str, Any]:
        """`{n, value, confusion}`, with the reason where there is no value."""
        why = {} if self.reason is None else {"reason": self.reason}
        return {"n": self.n, "value": self.value, "confusion": self.confusion, **why}


@dataclass(frozen=True, eq=False, kw_only=True)
class Aggregated:
    """The labels a model gives.

    Attributes:
        model: which one.
        label: (items,) category numbers; -1 where two categories are equally likely, and where nobody answered.
        posterior: (items, categories) how likely each is, summing to 1 (majority: the shares of the answers); NaN
            where nobody answered.
        categories: their names, in the order of the numbers.
        prior: (categories,) estimated shares of the true categories; None for majority.
        experts: what is told of each, by name.
        iterations, converged, log_likelihood: of the start that fitted best; None for majority.
        reason: why there are no labels; all of them are -1 then.
        warnings: what to know before believing them.
    """

    model: Name
    label: NDArray[np.int64]
    posterior: Floats
    categories: tuple[str, ...]
    prior: tuple[float, ...] | None
    experts: dict[str, Competence]
    iterations: int | None = None
    converged: bool | None = None
    log_likelihood: float | None = None
    reason: str | None = None
    warnings: tuple[str, ...] = ()
    signature: str = ""

    def as_json(self) -> dict[str, Any]:
        """All but the items: `{model, categories, prior, experts, iterations, converged, log_likelihood, …}`."""
        return {
            "model": self.model,
            "categories": list(self.categories),
            "prior": None if self.prior is None else list(self.prior),
            "experts": {name: found.as_json() for name, found in self.experts.items()},
            "iterations": self.iterations,
            "converged": self.converged,
            "log_likelihood": self.log_likelihood,
            "reason": self.reason,
            "warnings": list(self.warnings),
            "signature": self.signature,
        }


def majority(ratings: Ratings) -> Aggregated:
    """The category most of an item's answers name; a tie, or no answer, is undecided.

    Args:
        ratings: who answered what, see `Ratings`; "cannot judge" is no answer.

    How to read it: every expert counts the same. With two experts it labels what they agree on. A competence here is
    agreement with a label that this expert helped to make, so it flatters whoever judges with few others.

    >>> given = Ratings(raters=("A", "B", "C"), categories=("0", "1"), scale=(0.0, 1.0), items=("x", "y"),
    ...     table=np.array([[1, 1, 0], [0, 1, -1]]))
    >>> found = majority(given)
    >>> found.label.tolist(), found.experts["C"].value
    ([1, -1], 0.0)
    """
    kinds = _Kinds(ratings)
    if not kinds.n_answers:
        return _nothing(kinds, "majority", NO_ANSWER)
    shares = kinds.shares
    label = _most_likely(shares)
    equal = (kinds.table == label[:, None]) & (kinds.table != MISSING)
    decided = (kinds.table != MISSING) & (label != UNDECIDED)[:, None]
    hits, tried = kinds.weights @ equal, kinds.weights @ decided
    experts = {
        name: Competence(
            n=int(n),
            value=float(hit / of) if of else None,
            reason=None if of else (say("no item of theirs has a label") if n else OF_NOBODY),
        )
        for name, n, hit, of in zip(kinds.experts, kinds.given, hits, tried, strict=True)
    }
    return _result(kinds, "majority", shares, experts=experts, signature=_signature(kinds, "majority"))


def dawid_skene(
    ratings: Ratings,
    *,
    seed: int = 0,
    restarts: int = RESTARTS,
    steps: int = STEPS,
    tolerance: float = TOLERANCE,
) -> Aggregated:
    """Labels, class priors and a confusion matrix per expert by maximum likelihood; see the module for the model.

    Args:
        ratings: who answered what; "cannot judge" is no answer, and is taken to say nothing of the true label.
        seed, restarts: after the start from each item's shares of answers, so many more from these shares half mixed
            with random ones. A later start counts only where it fits clearly better; with none of them the result
            does not depend on the order of experts and items.
        steps, tolerance: an EM run ends after so many steps, or when the log-likelihood rises by less per answer.

    How to read it: the label is the likeliest category, `posterior` how likely. An expert who is wrong in a way of
    their own counts for less, even against a majority. Confusion matrices are told from agreement alone: a mistake
    that all experts share is invisible.

    >>> answers = np.array([[1, 1, 1]] * 6 + [[0, 0, 0]] * 6 + [[1, 1, 0]] * 3 + [[0, 0, 1]] * 3)
    >>> given = Ratings(raters=("A", "B", "C"), categories=("0", "1"), scale=(0.0, 1.0), items=range(18), table=answers)
    >>> found = dawid_skene(given)
    >>> found.label[12:].tolist(), [round(one.value, 2) for one in found.experts.values()], found.converged
    ([1, 1, 1, 0, 0, 0], [1.0, 1.0, 0.67], True)
    """
    kinds = _Kinds(ratings)
    reason = kinds.not_estimable()
    if reason:
        return _nothing(kinds, "dawid-skene", reason)
    model = _DawidSkene(kinds)
    fit = _best(kinds, model.starts(seed, restarts), model.again, steps, tolerance)
    value = np.einsum("t,ett->e", fit.parameters.prior, fit.parameters.confusion)
    warnings = (TWO_AN_ITEM,) if int((kinds.table != MISSING).sum(axis=1).max()) < 3 else ()
    return _of_fit(
        kinds, "dawid-skene", fit, value, warnings=warnings,
        signature=_signature(kinds, "dawid-skene", start="shares", seed=seed, restarts=restarts, steps=steps,
                             tolerance=tolerance),
    )  # fmt: skip


def mace(
    ratings: Ratings,
    *,
    seed: int = 0,
    restarts: int = RESTARTS,
    steps: int = STEPS,
    tolerance: float = TOLERANCE,
) -> Aggregated:
    """Labels, and how often each expert knows instead of guessing; see the module for the model.

    Args:
        ratings: who answered what; "cannot judge" is no answer.
        seed, restarts: after the start θ = 1/2 with even habits, so many random ones; as in `dawid_skene`.
        steps, tolerance: as in `dawid_skene`, of the log-likelihood with the smoothing's prior.

    How to read it: θ is no accuracy: who guesses is right now and then, so accuracy is higher. An item on which all
    answers agree keeps them. Categories count as equally likely to be true, so where one of them is rare, the model
    finds it too often among the disputed items.

    >>> answers = np.array([[1, 1, 1]] * 6 + [[0, 0, 1]] * 6)
    >>> given = Ratings(raters=("A", "B", "C"), categories=("0", "1"), scale=(0.0, 1.0), items=range(12), table=answers)
    >>> found = mace(given)
    >>> found.label[6:].tolist(), [round(one.value, 2) for one in found.experts.values()]
    ([0, 0, 0, 0, 0, 0], [1.0, 1.0, 0.0])
    """
    kinds = _Kinds(ratings)
    reason = kinds.not_estimable()
    if reason:
        return _nothing(kinds, "mace", reason)
    model = _Mace(kinds)
    fit = _best(kinds, model.starts(seed, restarts), model.again, steps, tolerance)
    warnings = () if kinds.has_triangles() else (NO_TRIANGLE,)
    return _of_fit(
        kinds, "mace", fit, fit.parameters.knows, warnings=warnings,
        signature=_signature(kinds, "mace", method="em", smoothing=f"{_SMOOTHING}/categories", seed=seed,
                             restarts=restarts, steps=steps, tolerance=tolerance),
    )  # fmt: skip


# Items by what was answered to them ------------------------------------------------------------------------------


class _Kinds:
    """Items that look alike as one row: `table` (kinds, experts), `weights` (kinds,), `row_of` (items,).

    `answers` is the table as (kinds, experts × categories) of 0 and 1. Kinds without an answer have weight 0.
    """

    def __init__(self, ratings: Ratings) -> None:
        kinds, self.row_of = one_row_per_kind(replace(ratings, slots=None, clusters=None))
        assert kinds.copies is not None  # every row stands alone
        self.table = kinds.table
        self.answered = (self.table != MISSING).any(axis=1)
        self.weights = np.where(self.answered, kinds.copies, 0).astype(np.float64)
        self.experts, self.categories = ratings.raters, ratings.categories
        self.n_categories = len(self.categories)
        one_hot = self.table[:, :, None] == np.arange(self.n_categories)
        width = len(self.experts) * self.n_categories
        self.answers = one_hot.reshape(len(self.table), width).astype(np.float64)
        self.given: NDArray[np.int64] = (self.weights @ (self.table != MISSING)).astype(np.int64)
        self.n_items, self.n_answers = int(self.weights.sum()), int(self.given.sum())

    @property
    def shares(self) -> Floats:
        """(kinds, categories) shares of the answers; even where there are none."""
        shape = (len(self.table), len(self.experts), self.n_categories)
        votes = self.answers.reshape(shape).sum(axis=1)
        n = votes.sum(axis=1, keepdims=True)
        return np.where(n > 0, votes / np.maximum(n, 1), 1 / self.n_categories)

    def counts(self, posterior: Floats) -> Floats:
        """(experts, true, answered) expected numbers of answers."""
        found = self.answers.T @ (self.weights[:, None] * posterior)
        shape = (len(self.experts), self.n_categories, self.n_categories)
        return np.asarray(found.reshape(shape).transpose(0, 2, 1))

    def posterior(self, parameters: "_Parameters") -> tuple[Floats, float]:
        """(kinds, categories) how likely each category is true, and the log-likelihood of all answers."""
        logs = np.log(np.maximum(parameters.confusion, _TINY)).transpose(0, 2, 1)
        joint = self.answers @ logs.reshape(-1, self.n_categories)
        joint += np.log(np.maximum(parameters.prior, _TINY))
        top = joint.max(axis=1, keepdims=True)
        likely = np.exp(joint - top)
        whole = likely.sum(axis=1, keepdims=True)
        return likely / whole, float(self.weights @ (top + np.log(whole))[:, 0])

    def not_estimable(self) -> str | None:
        """Why no model that tells experts apart can be fitted."""
        if not self.n_answers:
            return NO_ANSWER
        if self.n_items < 2:
            return ONE_ITEM
        if (self.given > 0).sum() < 2:
            return ONE_EXPERT
        if int((self.table != MISSING).sum(axis=1).max()) < 2:
            return NO_OVERLAP
        if (self.weights @ self.answers).reshape(-1, self.n_categories).any(axis=0).sum() < 2:
            return ONE_CATEGORY
        return None

    def has_triangles(self) -> bool:
        """Whether the competences follow from how pairs agree: log d_ij = log θ_i + log θ_j has one solution.

        So it is where every group of experts linked by shared items holds a ring of an odd number of them.
        """
        there = (self.table != MISSING)[:, self.given > 0].astype(np.int64)
        shared = there.T @ there > 0
        first, second = np.nonzero(np.triu(shared, 1))
        pairs = np.zeros((len(first), len(shared)))
        pairs[np.arange(len(first)), first] = pairs[np.arange(len(first)), second] = 1
        return bool(np.linalg.matrix_rank(pairs) == len(shared))


# The models --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class _Parameters:
    """`confusion` (experts, true, answered) and `prior` (categories,); of MACE also θ (`knows`) and ξ (`habit`).

    `penalty`: the logarithm of the parameters' prior.
    """

    confusion: Floats
    prior: Floats
    knows: Floats = field(default_factory=lambda: np.zeros(0))
    habit: Floats = field(default_factory=lambda: np.zeros(0))
    penalty: float = 0.0


@dataclass(frozen=True, eq=False)
class _DawidSkene:
    """The steps of Dawid and Skene's model."""

    kinds: _Kinds

    def starts(self, seed: int, restarts: int) -> Iterator[_Parameters]:
        """From each item's shares of answers, then from these half mixed with random ones."""
        kinds = self.kinds
        yield self.parameters(kinds.shares)
        rng = np.random.default_rng(seed)
        for _ in range(restarts):
            drawn = rng.dirichlet(np.ones(kinds.n_categories), size=len(kinds.table))
            yield self.parameters((kinds.shares + drawn) / 2)

    def again(self, _old: _Parameters, posterior: Floats) -> _Parameters:
        """The likeliest parameters where items are so likely of each category."""
        return self.parameters(posterior)

    def parameters(self, posterior: Floats) -> _Parameters:
        """Shares of the categories, and confusion matrices from the expected numbers of answers."""
        counts = self.kinds.counts(posterior)
        of_class = counts.sum(axis=2, keepdims=True)
        even = np.full_like(counts, 1 / self.kinds.n_categories)  # where there is nothing to go by
        confusion = np.divide(counts, of_class, out=even, where=of_class > _TINY)
        return _Parameters(confusion=confusion, prior=self.kinds.weights @ posterior / self.kinds.n_items)


@dataclass(frozen=True, eq=False)
class _Mace:
    """The steps of MACE."""

    kinds: _Kinds

    @property
    def smoothing(self) -> float:
        """What is added to every expected count."""
        return _SMOOTHING / self.kinds.n_categories

    def starts(self, seed: int, restarts: int) -> Iterator[_Parameters]:
        """From θ = 1/2 with even habits, then from random ones."""
        n_experts, n_categories = len(self.kinds.experts), self.kinds.n_categories
        yield self.parameters(np.full(n_experts, 0.5), np.full((n_experts, n_categories), 1 / n_categories))
        rng = np.random.default_rng(seed)
        for _ in range(restarts):
            knows = rng.uniform(0.1, 0.9, size=n_experts)
            yield self.parameters(knows, rng.dirichlet(np.full(n_categories, 5.0), n_experts))

    def again(self, old: _Parameters, posterior: Floats) -> _Parameters:
        """θ and ξ from how many answers were known and how many guessed, as expected under the old ones."""
        counts = self.kinds.counts(posterior)
        right = np.einsum("ett->et", counts)
        knew = right * old.knows[:, None] / np.einsum("ett->et", old.confusion)
        guessed = counts.sum(axis=1) - knew + self.smoothing
        known = knew.sum(axis=1) + self.smoothing
        others = (counts.sum(axis=1) - knew).sum(axis=1) + self.smoothing
        return self.parameters(known / (known + others), guessed / guessed.sum(axis=1, keepdims=True))

    def parameters(self, knows: Floats, habit: Floats) -> _Parameters:
        """Confusion matrices that follow from θ and ξ, with the smoothing's prior as their penalty."""
        n_categories = self.kinds.n_categories
        guess = (1 - knows)[:, None, None] * habit[:, None, :]
        confusion = guess + knows[:, None, None] * np.eye(n_categories)
        prior = np.full(n_categories, 1 / n_categories)
        logs = np.log(knows).sum() + np.log1p(-knows).sum() + np.log(habit).sum()
        return _Parameters(
            confusion=confusion, prior=prior, knows=knows, habit=habit, penalty=float(self.smoothing * logs)
        )


# Fitting -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class _Fit:
    parameters: _Parameters
    posterior: Floats
    log_likelihood: float
    iterations: int
    converged: bool

    @property
    def objective(self) -> float:
        return self.log_likelihood + self.parameters.penalty


Again = Callable[[_Parameters, Floats], _Parameters]


def _em(kinds: _Kinds, parameters: _Parameters, again: Again, steps: int, tolerance: float) -> _Fit:
    """Expectation and maximisation in turn; the objective never falls."""
    posterior, likelihood = kinds.posterior(parameters)
    step, converged = 0, False
    while step < steps and not converged:
        before = likelihood + parameters.penalty
        parameters = again(parameters, posterior)
        posterior, likelihood = kinds.posterior(parameters)
        converged = likelihood + parameters.penalty - before < tolerance * kinds.n_answers
        step += 1
    return _Fit(
        parameters=parameters,
        posterior=posterior,
        log_likelihood=likelihood,
        iterations=step,
        converged=converged,
    )


def _best(kinds: _Kinds, starts: Iterator[_Parameters], again: Again, steps: int, tolerance: float) -> _Fit:
    """The fit of the start that ends highest; a later one must be clearly better, by a tenth of a nat."""
    best: _Fit | None = None
    for start in starts:
        fit = _em(kinds, start, again, steps, tolerance)
        if best is None or fit.objective > best.objective + _CLEARLY:
            best = fit
    assert best is not None
    return best


_CLEARLY = 0.1


# Results -----------------------------------------------------------------------------------------------------------


def _most_likely(posterior: Floats) -> NDArray[np.int64]:
    """(rows,) the one category that is likeliest, -1 where two are equally likely."""
    ordered = np.sort(posterior, axis=1)
    tie = ordered[:, -1] - ordered[:, -2] < _TIE
    return np.where(tie, UNDECIDED, posterior.argmax(axis=1))


def _result(kinds: _Kinds, model: Name, posterior: Floats, **told: Any) -> Aggregated:
    label = np.where(kinds.answered, _most_likely(posterior), UNDECIDED)
    shown = np.where(kinds.answered[:, None], posterior, np.nan)
    return Aggregated(
        model=model,
        label=label[kinds.row_of],
        posterior=shown[kinds.row_of],
        categories=kinds.categories,
        **{"prior": None, **told},
    )


def _of_fit(
    kinds: _Kinds, model: Name, fit: _Fit, value: Floats, *, warnings: tuple[str, ...], signature: str
) -> Aggregated:
    seen = kinds.counts(fit.posterior).sum(axis=2) > _TIE
    experts = {
        name: Competence(
            n=int(n),
            value=float(value[place]) if n else None,
            confusion=[
                row if there else None
                for row, there in zip(fit.parameters.confusion[place].tolist(), seen[place], strict=True)
            ],
            reason=None if n else OF_NOBODY,
        )
        for place, (name, n) in enumerate(zip(kinds.experts, kinds.given.tolist(), strict=True))
    }
    if not fit.converged:
        unfinished = say("The search had not settled after {n} steps.", n=fit.iterations)
        warnings = (*warnings, unfinished)
    return _result(
        kinds,
        model,
        fit.posterior,
        prior=tuple(fit.parameters.prior.tolist()),
        experts=experts,
        iterations=fit.iterations,
        converged=fit.converged,
        log_likelihood=fit.log_likelihood,
        warnings=warnings,
        signature=signature,
    )


def _nothing(kinds: _Kinds, model: Name, reason: str) -> Aggregated:
    """No labels, and why."""
    return Aggregated(
        model=model,
        label=np.full(len(kinds.row_of), UNDECIDED),
        posterior=np.full((len(kinds.row_of), kinds.n_categories), np.nan),
        categories=kinds.categories,
        prior=None,
        experts={
            name: Competence(n=n, value=None, reason=reason)
            for name, n in zip(kinds.experts, kinds.given.tolist(), strict=True)
        },
        reason=reason,
        signature=_signature(kinds, model),
    )


def _signature(kinds: _Kinds, model: Name, **settings: object) -> str:
    more = "".join(f"|{name}:{value}" for name, value in settings.items())
    return (
        f"{model}|ver:1|items:{kinds.n_items}|answers:{kinds.n_answers}|experts:{int((kinds.given > 0).sum())}"
        f"|categories:{'/'.join(kinds.categories)}{more}|numpy:{np.__version__}"
    )


MODELS: dict[Name, Callable[[Ratings, int], Aggregated]] = {
    "majority": lambda ratings, _seed: majority(ratings),
    "dawid-skene": lambda ratings, seed: dawid_skene(ratings, seed=seed),
    "mace": lambda ratings, seed: mace(ratings, seed=seed),
}


def aggregate(ratings: Ratings, model: Name, *, seed: int = 0) -> Aggregated:
    """The labels by the model of that name.

    >>> given = Ratings(raters=("A", "B"), categories=("0", "1"), scale=(0.0, 1.0), items=("x",),
    ...     table=np.array([[1, 1]]))
    >>> aggregate(given, "majority").label.tolist(), str(aggregate(given, "mace").reason)
    ([1], 'fewer than two items have an answer')
    """
    return MODELS[model](ratings, seed)
