"""The app that measures them."""

from django.apps import AppConfig


class ScoringConfig(AppConfig):
    name = "scoring"
