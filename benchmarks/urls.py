"""The project's addresses and the bare view."""

from django.urls import include, path

from benchmarks.bare import bare

urlpatterns = [path("bare/", bare), path("", include("config.urls"))]
