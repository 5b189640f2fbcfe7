"""Addresses for programs, under /api/v1/."""

from django.urls import URLPattern, URLResolver, include, path

from annotation.api import beside, campaigns, hours, process, rules, seat

Urls = list[URLPattern | URLResolver]

# campaigns/<slug>/
seat_urls: Urls = [
    path(
        "units/<int:unit>/answers/", seat.answers, name="api_answers"
    ),  # first, since it is called all the time
    path("answers/", seat.answers_in_order, name="api_answers_in_order"),
    path("next/", seat.next_units, name="api_next"),
    path("recent/", seat.recent, name="api_recent"),
    path("screens/<int:position>/", seat.screen, name="api_screen"),
    path("screens/<int:position>/words/", beside.words, name="api_words"),
    path("units/<int:unit>/later/", beside.later, name="api_later"),
    path("units/<int:unit>/later/back/", beside.later_back, name="api_later_back"),
    path("units/<int:unit>/questions/", beside.ask, name="api_ask"),
    path("time/", hours.add_time, name="api_time"),
]
campaign_urls: Urls = [
    *seat_urls,
    path("", campaigns.campaign, name="api_campaign"),
    path("items/", campaigns.items, name="api_items"),
    path("labels/", campaigns.labels, name="api_labels"),
    path("annotations/", campaigns.annotations, name="api_annotations"),
    path("guidelines/", rules.guidelines, name="api_guidelines"),
    path("wording/", rules.wording, name="api_wording"),
    path("precedents/", rules.precedents, name="api_precedents"),
    path("questions/", rules.questions, name="api_questions"),
    path("rounds/", process.rounds, name="api_rounds"),
    path("batches/", process.batches, name="api_batches"),
    path("audit/", process.audit, name="api_audit"),
]

urlpatterns: Urls = [
    path("campaigns/", campaigns.campaigns, name="api_campaigns"),
    path("campaigns/<slug:slug>/", include(campaign_urls)),
]
