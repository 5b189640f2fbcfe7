"""The pages of this app: what a campaign's labels amount to."""

from django.urls import URLPattern, URLResolver, include, path, re_path

from scoring.views import compute, reports

Urls = list[URLPattern | URLResolver]

KIND = r"(?P<kind>error-rates|agreement|bleu|statistics|human|artifacts)"

# /campaigns/<slug>/
report_urls: Urls = [
    path("compute/", compute.compute, name="compute"),
    path("reports/", reports.reports, name="reports"),
    path("reports/agreement/compute/", compute.compute_agreement, name="compute_agreement"),
    path("reports/agreement/parts/<int:index>/compute/", compute.compute_part, name="compute_part"),
    re_path(rf"^reports/{KIND}/$", reports.report, name="report"),
    re_path(rf"^reports/{KIND}\.(?P<format>md|tex|csv|json)$", reports.report_file, name="report_file"),
]

urlpatterns: Urls = [
    path("campaigns/<slug:slug>/", include(report_urls)),
]
