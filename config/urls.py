"""The sitemap: each app lists its own pages."""

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path
from drf_spectacular.views import SpectacularAPIView

from annotation.views.accounts import admin_sign_in
from scoring.urls import api_urlpatterns

urlpatterns: list[URLPattern | URLResolver] = [
    path("api/v1/", include("annotation.api.urls")),  # first: judging calls nothing else
    path("api/v1/campaigns/<slug:slug>/", include(api_urlpatterns)),
    path("admin/login/", admin_sign_in, name="admin_sign_in"),
    path("admin/", admin.site.urls),
    path("api/schema/", SpectacularAPIView.as_view(), name="api_schema"),
    path("", include("annotation.urls")),
    path("", include("scoring.urls")),
]
handler404 = "annotation.api.errors.not_found"
