"""Checking a compositional test set before anybody translates or judges it. Nothing is stored in the campaign."""

from collections import Counter
from typing import Any
from uuid import UUID

from django.core.files.uploadedfile import UploadedFile
from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods, require_safe

from annotation.forms.compound_sets import CompoundSetForm
from annotation.models import Campaign, Membership
from annotation.permissions import MANAGER, PersonRequest, members_only
from annotation.protocol.compound_set import RULES
from annotation.services import compound_sets, uploads
from annotation.services.compound_sets import SentFile, UnusableFile
from annotation.services.sentences import message_of, translated
from annotation.services.uploads import Upload
from annotation.views.campaign_page import campaign_page
from annotation.views.refusals import plain_refusals
from annotation.views.table_files import csv_file

SHOWN = 500  # violations on the page; the file has all
RULE_WORDS = {
    "pattern": _("the compound has none of the patterns"),
    "contexts": _("another number of contexts"),
    "context_repeated": _("the same sentence twice"),
    "source": _("the compound does not stand in its source"),
    "seen": _("the compound stands in the training text"),
    "atom": _("an atom does not stand in the training text"),
    "context": _("the context is not known"),
}


@require_http_methods(["GET", "HEAD", "POST"])
@members_only(MANAGER)
def compound_set(request: PersonRequest, member: Membership) -> HttpResponse:
    """Send the files; what they come to is kept for a day."""
    campaign = _of_compounds(member)
    form = CompoundSetForm(request.POST, request.FILES) if request.method == "POST" else CompoundSetForm()
    if not (form.is_bound and form.is_valid()):
        return _form_page(request, member, form)
    sent = {name: file for name, file in form.cleaned_data.items() if isinstance(file, UploadedFile)}
    upload = uploads.keep(campaign, compound_sets.UPLOAD, sent, options={}, by=request.user)
    files = {name: SentFile(kept.name, upload.path(name).read_bytes) for name, kept in upload.files.items()}
    try:
        document = compound_sets.check_files(files)
    except UnusableFile as error:
        uploads.discard(upload)
        form.add_error(error.what, translated(error.error.sentence))
        return _form_page(request, member, form)
    uploads.finish(upload, compound_sets.kept(document))
    return redirect("compound_set_found", campaign.slug, upload.token)


def _of_compounds(member: Membership) -> Campaign:
    if member.campaign.protocol != Campaign.Protocol.COMPOUND:
        raise Http404
    return member.campaign


def _form_page(request: PersonRequest, member: Membership, form: CompoundSetForm) -> HttpResponse:
    context = {"form": form, "limit": filesizeformat(uploads.LIMIT)}
    return campaign_page(
        request,
        member,
        "annotation/compound_set.html",
        context,
        tab="import",
        status=400 if form.errors else 200,
    )


@require_safe
@plain_refusals
@members_only(MANAGER)
def compound_set_found(request: PersonRequest, member: Membership, token: UUID) -> HttpResponse:
    """What a set came to: by rule, then place by place."""
    upload, found = _found(member, token)
    by_rule = Counter(one["rule"] for one in found["violations"])
    shown = [
        {**one, "words": RULE_WORDS[one["rule"]], "text": message_of(one)}
        for one in found["violations"][:SHOWN]
    ]
    context = {
        "upload": upload,
        "found": found,
        "rules": [(RULE_WORDS[rule], by_rule[rule], rule in found["not_checked"]) for rule in RULES],
        "patterns": [(pattern or _("none of the patterns"), n) for pattern, n in found["patterns"].items()],
        "violations": shown,
        "n": len(found["violations"]),
    }
    return campaign_page(request, member, "annotation/compound_set_found.html", context, tab="import")


@require_safe
@plain_refusals
@members_only(MANAGER)
def compound_set_file(request: PersonRequest, member: Membership, token: UUID) -> HttpResponseBase:
    """All violations as a table."""
    _upload, found = _found(member, token)
    name = f"{member.campaign.slug}-compound-set-violations"
    return csv_file(name, compound_sets.COLUMNS, compound_sets.table_of(found))


def _found(member: Membership, token: UUID) -> tuple[Upload, dict[str, Any]]:
    upload = uploads.find(_of_compounds(member), token, kinds=(compound_sets.UPLOAD,))
    if upload.result is None:  # another request is at it
        raise Http404
    return upload, dict(upload.result)
