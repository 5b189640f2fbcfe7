"""A campaign's reports as pages and as files to take along. People stand under their pseudonyms."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.paginator import Paginator
from django.db import transaction
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotation.formats.writers import content_disposition
from annotation.models import Campaign, FinalLabel, Item, Membership
from annotation.permissions import MANAGER, VIEWER, PersonRequest, members_only
from annotation.protocol.base import get_protocol
from annotation.protocol.labels import fitting_rules
from annotation.services.errors import Refused
from annotation.services.jobs import worker_health
from annotation.services.sentences import translated
from annotation.tasks import wake
from annotation.views.campaign_page import campaign_page
from annotation.views.refusals import plain_refusals
from scoring.records import as_csv
from scoring.reports import as_latex, as_markdown
from scoring.reports.error_rates import tables_of
from scoring.reports.methods import paragraphs
from scoring.services.comparing import texts_behind
from scoring.services.kept_reports import COMPARISON, check, is_kept, kept, request_report
from scoring.services.measure import report as measure
from scoring.services.options import Options
from scoring.services.peeks import closed_to_reading, record_peek, still_open
from scoring.services.runs import runs_of
from scoring.services.standing import agreement_standing
from scoring.stats.aggregation import MODELS
from scoring.stats.artifacts import DESCRIBED
from scoring.stats.artifacts import RULES as ARTIFACT_RULES
from scoring.views.comparisons import predictions_side_by_side
from scoring.views.words import AGREEMENT, COEFFICIENTS, KINDS, SHOWN, SHOWN_BY_GROUP, WHAT_IF, Kind

Document = Mapping[str, Any]

WITH_SYSTEMS = ("error-rates", "bleu", "compound-check", "estimate")
ASKED = {
    "comparison": ("a", "b", "texts", "labels", "release", "split"),
    WHAT_IF.name: ("rule", "model"),
}  # of the others system, run, labels and rule
PREDICTIONS = "scoring/_predictions_compared.html"
SOURCES = ("final", "imported")
FILES = {"md": "text/markdown", "tex": "application/x-tex", "csv": "text/csv", "json": "application/json"}


@require_safe
@members_only(MANAGER, VIEWER)
def reports(request: PersonRequest, member: Membership) -> HttpResponse:
    """The reports there are for this protocol."""
    campaign = member.campaign
    standing = agreement_standing(campaign)
    context = {
        "kinds": KINDS[campaign.protocol],
        "standing": standing,
        "has_items": Item.objects.active().filter(campaign=campaign).exists(),
    }
    return campaign_page(request, member, "scoring/reports.html", context, tab="reports")


@require_http_methods(["GET", "HEAD", "POST"])
@members_only(MANAGER, VIEWER)
def report(request: PersonRequest, member: Membership, kind: str) -> HttpResponse:
    """One report: worked out now, but for agreement and what takes seconds, which are the last job's result.

    While answers are open, reading shows no figures; POST works them out and writes that down.
    """
    found = kind_of(member.campaign, kind)
    if found is AGREEMENT:
        return _agreement_page(request, member)
    choice = choice_of(request, member.campaign, kind)
    if is_kept(kind):
        return _kept_page(request, member, found, choice)
    context: dict[str, Any] = {
        "kind": found,
        "choice": choice,
        "body": f"scoring/_{kind.replace('-', '_')}.html",
        "interim": still_open(member.campaign, kind),
    }
    if context["interim"] and request.method != "POST":
        return campaign_page(request, member, "scoring/interim.html", context, tab="reports")
    try:
        document = measure(member.campaign, kind, choice.options)
    except Refused as refusal:
        context["refusal"] = translated(refusal.message)
    else:
        if context["interim"]:
            record_peek(member.campaign, kind, by=request.user)
        context |= {"document": document, "figures": _EXTRAS.get(kind, _nothing)(document)}
    return campaign_page(request, member, "scoring/report.html", context, tab="reports")


def _kept_page(request: PersonRequest, member: Membership, kind: Kind, choice: "Choice") -> HttpResponse:
    """What the last job kept, and how old it is; POST asks for it to be worked out, which the worker does."""
    campaign = member.campaign
    context: dict[str, Any] = {
        "kind": kind,
        "choice": choice,
        "body": f"scoring/_{kind.name}.html",
        "interim": still_open(campaign, kind.name),
        "worker": worker_health(),
    }
    try:
        if request.method == "POST":
            with transaction.atomic():
                wake(request_report(campaign, kind.name, choice.options, by=request.user))
            messages.success(request, _("The worker computes the figures; reload this page in a moment."))
            return redirect(f"{request.path}{choice.query}")
        check(campaign, kind.name, choice.options)
    except Refused as refusal:
        context["refusal"] = translated(refusal.message)
        return campaign_page(request, member, "scoring/report.html", context, tab="reports")
    context["kept"] = found = kept(campaign, kind.name, choice.options)
    document = found.document
    if document is None:
        page = "scoring/interim.html" if context["interim"] else "scoring/report.html"
        return campaign_page(request, member, page, context, tab="reports")
    context |= {"document": document, "figures": {}}
    if "groups" in document:
        context |= {"body": PREDICTIONS, "figures": predictions_side_by_side(document)}
        context["choice"] = replace(choice, sources=[] if document["release"] else choice.sources)
    elif kind.name == COMPARISON:
        context["figures"] = _comparison(request, campaign, document)
    return campaign_page(request, member, "scoring/report.html", context, tab="reports")


@require_http_methods(["GET", "HEAD", "POST"])
@plain_refusals
@members_only(MANAGER, VIEWER)
def report_file(
    request: PersonRequest,
    member: Membership,
    kind: str,
    format: str,  # noqa: A002
) -> HttpResponse:
    """The same figures as Markdown, LaTeX, CSV or JSON, with their signature; interim ones by POST only."""
    campaign = member.campaign
    found = kind_of(campaign, kind)
    if found is AGREEMENT:
        evaluation = agreement_standing(campaign).whole.evaluation
        if evaluation is None:
            raise Refused(_("The agreement has not been computed yet, so there is no file of it."))
        document = evaluation.result
    else:
        refuse_to_read_interim(request, campaign, kind)
        document = _document(request, campaign, kind)
        if request.method == "POST":
            record_peek(campaign, kind, by=request.user)
    return report_response(campaign, kind, document, format)


def _document(request: PersonRequest, campaign: Campaign, kind: str) -> Document:
    """Of what takes seconds that which was kept, as its page shows it; a POST has it worked out where there is none."""
    options = choice_of(request, campaign, kind).options
    if not is_kept(kind):
        return measure(campaign, kind, options)
    check(campaign, kind, options)
    document = kept(campaign, kind, options).document
    if document is not None:
        return document
    if request.method == "POST":
        return measure(campaign, kind, options)
    raise Refused(_("These figures have not been computed yet, so there is no file of them."))


def refuse_to_read_interim(request: PersonRequest, campaign: Campaign, kind: str) -> None:
    """Refused where a GET asks for figures that are a peek: it may not write that down."""
    still = 0 if request.method == "POST" else still_open(campaign, kind)
    if still:
        raise Refused(closed_to_reading(still))


def report_response(campaign: Campaign, kind: str, document: Document, form: str) -> HttpResponse:
    """A report as a file to take along."""
    response = HttpResponse(as_text(kind, document, form), content_type=f"{FILES[form]}; charset=utf-8")
    response.headers["Content-Disposition"] = content_disposition(f"{campaign.slug}-{kind}.{form}")
    return response


def as_text(kind: str, document: Document, form: str) -> str:
    """A report in one of the formats of `FILES`."""
    match form:
        case "md":
            return as_markdown(kind, document)
        case "tex":
            return as_latex(kind, document)
        case "csv":
            return "\ufeff" + as_csv(kind, document)
    return json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2)


def kind_of(campaign: Campaign, name: str) -> Kind:
    """A report that this protocol has; Http404 for any other."""
    found = next((kind for kind in KINDS[campaign.protocol] if kind.name == name), None)
    if found is None:
        raise Http404
    return found


# What is asked for --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Link:
    """One thing that can be chosen: where it leads, what it is called, whether it is chosen."""

    query: str
    title: str
    chosen: bool


@dataclass(frozen=True)
class Choice:
    """What the page shows a report of, and what else could be chosen."""

    options: Options
    query: str
    systems: Sequence[Link] = ()
    sources: Sequence[Link] = ()
    rules: Sequence[Link] = ()
    others: Mapping[str, Sequence[Link]] = field(default_factory=dict)  # of the what-if: by rule and model


def choice_of(request: PersonRequest, campaign: Campaign, kind: str) -> Choice:
    """From the address; what it does not say is the first of what there is."""
    names = ASKED.get(kind, ("system", "run", "labels", "rule"))
    asked = {name: request.GET[name] for name in names if name in request.GET}
    rules = _label_rules(campaign) if kind == WHAT_IF.name else ARTIFACT_RULES
    allowed = {"labels": SOURCES, "rule": rules, "model": tuple(MODELS)}
    if any(asked[name] not in values for name, values in allowed.items() if name in asked):
        raise Http404
    among = request.GET.getlist("among") if kind == "comparison" else []
    runs = runs_of(campaign) if kind in WITH_SYSTEMS else []
    if runs and "system" not in asked:
        asked["system"], asked["run"] = runs[0]
    options = Options(
        system=asked.get("system"),
        run=asked.get("run"),
        labels=asked.get("labels"),
        rule=asked.get("rule"),
        model=asked.get("model"),
        a=asked.get("a"),
        b=asked.get("b"),
        among=among,
        release=asked.get("release"),
        split=asked.get("split"),
        texts=asked.get("texts") == "yes",
    )
    return Choice(
        options=options,
        query=_query(asked, among),
        systems=[
            Link(
                _query(asked, among, system=system, run=run),
                _run_name(system, run),
                (system, run) == _chosen(asked),
            )
            for system, run in runs
        ],
        sources=_sources(campaign, kind, asked, among),
        rules=[
            Link(_query(asked, among, rule=rule), rule, rule == asked.get("rule", DESCRIBED))
            for rule in ARTIFACT_RULES
        ]
        if kind == "artifacts"
        else [],
        others=_others(campaign, asked) if kind == WHAT_IF.name else {},
    )


def _label_rules(campaign: Campaign) -> list[str]:
    fitting = fitting_rules(get_protocol(campaign.protocol), campaign.annotators_per_item)
    return [rule.name for rule in fitting]


def _others(campaign: Campaign, asked: Mapping[str, str]) -> dict[str, list[Link]]:
    """Each rule and each label model that the labels can be compared with."""
    return {
        name: [Link(f"?{urlencode({name: one})}", one, asked.get(name) == one) for one in there]
        for name, there in (("rule", _label_rules(campaign)), ("model", [*MODELS]))
    }


def _chosen(asked: Mapping[str, str]) -> tuple[str | None, str | None]:
    return asked.get("system"), asked.get("run", "")


def _run_name(system: str, run: str) -> str:
    return " / ".join(name for name in (system, run) if name) or "–"


def _query(asked: Mapping[str, str], among: Sequence[str], **changed: str) -> str:
    return "?" + urlencode([*{**asked, **changed}.items(), *(("among", name) for name in among)])


def _sources(campaign: Campaign, kind: str, asked: Mapping[str, str], among: Sequence[str]) -> list[Link]:
    """Final or imported labels, where a campaign of triples has both."""
    if kind == "bleu" or campaign.protocol != Campaign.Protocol.TRIPLE:
        return []
    has_final = FinalLabel.objects.filter(item__campaign=campaign).exists()
    has_imported = Item.objects.active().filter(campaign=campaign).exclude(imported_label="").exists()
    if not (has_final and has_imported):
        return []
    chosen = asked.get("labels", SOURCES[0])
    return [Link(_query(asked, among, labels=source), source, source == chosen) for source in SOURCES]


# What single reports show besides their document ----------------------------------------------------------------


def _nothing(_document: Document) -> dict[str, Any]:
    return {}


@dataclass(frozen=True)
class Bar:
    """One bar of the histogram, in the units of its drawing."""

    wrong: int
    count: int
    x: int
    y: float
    height: float

    @property
    def of(self) -> str:
        """What it counts, for the list of its compounds."""
        return f"wrong-{self.wrong}"

    @property
    def middle(self) -> int:
        return self.x + BAR_WIDTH // 2

    @property
    def above(self) -> float:
        return self.y - 6


BAR_WIDTH, BAR_STEP, BAR_FLOOR, BAR_TOP = 64, 84, 160, 24


def _error_rates(document: Document) -> dict[str, Any]:
    """The histogram of wrong contexts as bars."""
    counts = document["wrong_contexts_histogram"]
    most = max(counts, default=0) or 1
    heights = [(BAR_FLOOR - BAR_TOP) * count / most for count in counts]
    bars = [
        Bar(wrong, count, 10 + BAR_STEP * wrong, round(BAR_FLOOR - height, 1), round(height, 1))
        for wrong, (count, height) in enumerate(zip(counts, heights, strict=True))
    ]
    shown = ("type", "pattern", "words", "atoms")
    tables = {name: rows for name, rows in tables_of(document).items() if rows}
    return {
        "bars": bars if sum(counts) else [],
        "first": {name: tables[name] for name in shown if name in tables},
        "more": {name: rows for name, rows in tables.items() if name not in shown},
    }


def _methods(document: Document) -> dict[str, Any]:
    """Each language's heading and paragraph."""
    return {
        "paragraphs": [
            (language, heading, text)
            for language, (heading, text) in zip(document["text"], paragraphs(document), strict=True)
        ]
    }


def _what_if(document: Document) -> dict[str, Any]:
    """The table from state to state; figures of experts, systems and submissions as rows."""
    found = {(one["from"], one["to"]): one["n"] for one in document["table"]}
    states = [sorted({cell[side] for cell in found}, key=lambda s: (s not in "10", s)) for side in (0, 1)]
    return {
        "after": states[1],
        "likely": _likely(document),
        "cells": [(one, [(other, found.get((one, other), 0)) for other in states[1]]) for one in states[0]],
        "scores": [
            {"name": name, "figure": figure, "note": run.get("warning"), "before": run["before"],
             "after": run["after"], "difference": run["difference"][figure]}
            for name, run in _scored(document)
            for figure in ("auc", "f1")
        ],
    }  # fmt: skip


def _likely(document: Document) -> dict[str, Any] | None:
    """What a fitted model takes for true: shares of the labels, and how often each expert finds each of them."""
    model = document["to"]["model"]
    if model is None or model["prior"] is None:
        return None
    found = {
        name: [row[place] if row else None for place, row in enumerate(one["confusion"])]
        for name, one in model["experts"].items()
        if one["confusion"]
    }
    return {
        "prior": [(name, 100 * one) for name, one in zip(model["categories"], model["prior"], strict=True)],
        "finds": found,
        "categories": model["categories"],
    }


def _scored(document: Document) -> list[tuple[str, Document]]:
    """Whose scores are measured against the labels: the experts', and those sent in."""
    if "human" not in document:
        return []
    sent = [(_run_name(run["system"], run["run"]), run) for run in document["submissions"]]
    return [("", document["human"]), *sent]


_EXTRAS = {"error-rates": _error_rates, "methods": _methods, "what-if": _what_if}

AT_ONCE = 50


def _comparison(request: PersonRequest, campaign: Campaign, document: Document) -> dict[str, Any]:
    """The compounds and the differing instances, a page of each; the texts of the instances shown."""
    parted = document["differing"]
    compounds = Paginator(document["heat_map"]["rows"], AT_ONCE).get_page(request.GET.get("compounds"))
    instances = Paginator(parted["instances"] if parted else [], AT_ONCE).get_page(request.GET.get("page"))
    texts = texts_behind(
        campaign, {one[name] for one in instances for name in ("item_a", "item_b")} if parted else set()
    )
    return {
        "compounds": compounds,
        "instances": instances,
        "shown": [
            {
                **one,
                "source": texts[one["item_a"]][0],
                "text_a": texts[one["item_a"]][1],
                "text_b": texts[one["item_b"]][1],
            }
            for one in instances
        ],
        "columns": dict.fromkeys(system["name"] for system in document["systems"]),
    }


# Agreement ------------------------------------------------------------------------------------------------------


def _agreement_page(request: PersonRequest, member: Membership) -> HttpResponse:
    campaign = member.campaign
    standing = agreement_standing(campaign)
    evaluation = standing.whole.evaluation
    context = {
        "kind": AGREEMENT,
        "standing": standing,
        "evaluation": evaluation,
        "document": evaluation.result if evaluation else None,
        "prevalence": _prevalence(evaluation.result) if evaluation else None,
        "coefficients": [COEFFICIENTS[name] for name in SHOWN[campaign.protocol]],
        "of_groups": [COEFFICIENTS[name] for name in SHOWN_BY_GROUP[campaign.protocol]],
        "of_pairs": [COEFFICIENTS[name] for name in _OF_PAIRS[campaign.protocol]],
        "undefined_pairs": _has_undefined_pairs(evaluation.result) if evaluation else False,
        "choice": Choice(Options(), "?"),
        "worker": worker_health(),
    }
    return campaign_page(request, member, "scoring/agreement.html", context, tab="reports")


def _has_undefined_pairs(document: Document) -> bool:
    """Whether a reason stands beside any of the pairs."""
    return any(pair["coefficients"]["cohen"].get("reason") for pair in document["pairs"])


LOPSIDED = 80  # per cent of the judgements; beyond it chance alone makes for most of the agreement


def _prevalence(document: Document) -> dict[str, Any] | None:
    """The most frequent answer and its share; None where nobody answered."""
    counts = document["distribution"]
    total = sum(counts.values())
    if not total:
        return None
    label = max(counts, key=counts.__getitem__)
    share = 100 * counts[label] / total
    return {"label": label, "percent": share, "lopsided": share >= LOPSIDED}


_OF_PAIRS: dict[str, tuple[str, ...]] = {
    Campaign.Protocol.COMPOUND: ("raw", "cohen"),
    Campaign.Protocol.TRIPLE: ("raw", "cohen", "cohen_linear", "cohen_quadratic"),
}
