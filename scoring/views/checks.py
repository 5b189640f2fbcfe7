"""Reports that need a file from who asks: it is read, measured with, and not kept."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpResponse
from django.views.decorators.http import require_http_methods

from annotation.formats.errors import FormatError
from annotation.models import Campaign, Membership
from annotation.permissions import MANAGER, VIEWER, PersonRequest, members_only
from annotation.protocol.errors import ProtocolError
from annotation.services.errors import Refused
from annotation.services.sentences import translated
from annotation.views.campaign_page import campaign_page
from scoring.forms.checks import CheckForm, EstimateForm, TextsForm, TrainingForm
from scoring.services.behind.compounds import behind_cells
from scoring.services.behind.packed import packed
from scoring.services.checked import check_document, checked_run
from scoring.services.files import NamedFile
from scoring.services.measure import report as measure
from scoring.services.options import Document, Options
from scoring.services.peeks import record_peek, still_open
from scoring.views.reports import FILES, Choice, choice_of, kind_of, report_response

FORMS: dict[str, type[forms.Form]] = {
    "compound-check": CheckForm,
    "estimate": EstimateForm,
    "texts": TextsForm,
    "statistics": TrainingForm,
}
REPORTS = {"texts": "bleu"}  # what a page measures, where it is not called as the page
WITHOUT_A_FILE = ("statistics",)  # has figures before anybody sends one


@require_http_methods(["GET", "HEAD", "POST"])
@members_only(MANAGER, VIEWER)
def check(request: PersonRequest, member: Membership, kind: str) -> HttpResponse:
    """The form, and after it was sent the figures: as a page, or as a file of the format on the button."""
    found = kind_of(member.campaign, kind)
    choice = choice_of(request, member.campaign, kind)
    form = FORMS[kind](request.POST or None, request.FILES or None)
    measured = REPORTS.get(kind, kind)
    document: Document | None = None
    cells: Mapping[str, str] = {}
    if request.method == "POST" and form.is_valid():
        options = _options(choice.options, form)
        document, cells = _measured(member.campaign, measured, options, form)
        if document:
            record_peek(member.campaign, measured, by=request.user)
        if document and request.POST.get("as") in FILES:
            return report_response(member.campaign, measured, document, request.POST["as"])
    status = 200 if request.method != "POST" or document else 400
    context: dict[str, Any] = {
        "kind": found,
        "choice": choice,
        "form": form,
        "document": document,
        "interim": still_open(member.campaign, measured),
        "cells": cells,
        "body": f"scoring/_{measured.replace('-', '_')}.html",
    }
    if document is None and kind in WITHOUT_A_FILE:
        context |= _without_a_file(member.campaign, kind, choice)
    return campaign_page(request, member, "scoring/check.html", context, tab="reports", status=status)


def _measured(
    campaign: Campaign, kind: str, options: Options, form: forms.Form
) -> tuple[Document | None, Mapping[str, str]]:
    """The figures with the files of the form, and the items of each cell of a check for the forms that lead to their
    list, as the file is not kept. What is wrong with the files stands in the form.
    """
    try:
        if kind != "compound-check":
            return measure(campaign, kind, options), {}
        run = checked_run(campaign, options)
        return check_document(run), {cell: packed(found.items) for cell, found in behind_cells(run).items()}
    except (Refused, ProtocolError) as refusal:
        form.add_error(None, translated(refusal.message))
    except FormatError as error:
        form.add_error(None, translated(error.sentence))
    return None, {}


def _without_a_file(campaign: Campaign, kind: str, choice: Choice) -> dict[str, Any]:
    try:
        return {"document": measure(campaign, kind, choice.options), "without_a_file": True}
    except Refused as refusal:
        return {"refusal": translated(refusal.message)}


def _options(options: Options, form: forms.Form) -> Options:
    data = form.cleaned_data
    judge, lexicon = data.get("judge"), data.get("lexicon")
    return replace(
        options,
        compatible=bool(data.get("compatible")),
        lexicon=lexicon.read() if lexicon else None,
        judge=judge.read() if judge else None,
        judge_name=judge.name if judge else options.judge_name,
        training=_file(data.get("training")),
        derive_classes=bool(data.get("derive_classes")),
        test_set=_file(data.get("texts")),
        hypotheses=_file(data.get("hypotheses")),
        references=_file(data.get("references")),
    )


def _file(sent: UploadedFile | None) -> NamedFile | None:
    return None if sent is None else NamedFile(str(sent.name), sent.read())
