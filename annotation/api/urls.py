"""Addresses for programs, under /api/v1/campaigns/<slug>/."""

from django.urls import path

from annotation.api import seat

seat_urls = [
    path("next/", seat.next_units, name="api_next"),
    path("recent/", seat.recent, name="api_recent"),
    path("screens/<int:position>/", seat.screen, name="api_screen"),
    path("units/<int:unit>/answers/", seat.answers, name="api_answers"),
    path("units/<int:unit>/later/", seat.later, name="api_later"),
]

campaign_urls = [*seat_urls]
