"""The pages and the addresses for programs of this app: what labels amount to, submissions, releases."""

from django.urls import URLPattern, URLResolver, include, path, re_path

from scoring import api
from scoring.views import (
    checks,
    compute,
    differing,
    pictures,
    plans,
    releases,
    report_items,
    reports,
    submissions,
)

Urls = list[URLPattern | URLResolver]

KIND = r"(?P<kind>error-rates|comparison|agreement|bleu|statistics|human|artifacts|methods)"

ITEMS = r"(?P<kind>error-rates|agreement|bleu|statistics|human|artifacts|compound-check)"

CHECK = r"(?P<kind>compound-check|estimate|texts|statistics)"  # of a file from who asks

# /campaigns/<slug>/
report_urls: Urls = [
    path("compute/", compute.compute, name="compute"),
    path("reports/", reports.reports, name="reports"),
    path("reports/agreement/compute/", compute.compute_agreement, name="compute_agreement"),
    path("reports/agreement/parts/<int:index>/compute/", compute.compute_part, name="compute_part"),
    re_path(
        r"^reports/(?P<kind>error-rates|artifacts|comparison)/figure\.(?P<format>svg|pdf)$",
        pictures.report_picture,
        name="report_picture",
    ),
    path("reports/plan/", plans.plan, name="plan"),
    path("reports/comparison/triples/", differing.differing_triples, name="differing_triples"),
    re_path(rf"^reports/{CHECK}/$", checks.check, name="check"),
    re_path(rf"^reports/{KIND}/$", reports.report, name="report"),
    re_path(rf"^reports/{ITEMS}/items/$", report_items.report_items, name="report_items"),
    re_path(rf"^reports/{KIND}\.(?P<format>md|tex|csv|json)$", reports.report_file, name="report_file"),
]

RELEASE = r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]{0,39})"

# /campaigns/<slug>/
board_urls: Urls = [
    path("submissions/", submissions.submissions, name="submissions"),
    path("submissions/settings/", submissions.submissions_settings, name="submissions_settings"),
    path("submissions/again/", submissions.submissions_again, name="submissions_again"),
    re_path(
        r"^submissions/(?P<pk>[0-9]{1,9})/(?P<name>precision-recall|reliability)\.(?P<format>svg|pdf)$",
        pictures.submission_picture,
        name="submission_picture",
    ),
    path("submissions/<int:pk>/", submissions.submission, name="submission"),
    re_path(
        r"^submissions/(?P<pk>[0-9]{1,9})/figures\.(?P<format>md|tex|csv|json)$",
        submissions.submission_file,
        name="submission_file",
    ),
    re_path(
        r"^submissions/items\.(?P<format>csv|jsonl|xlsx|parquet)$",
        submissions.submission_items,
        name="submission_items",
    ),
    re_path(r"^submissions/board\.(?P<format>md|tex|csv|json)$", submissions.board_file, name="board_file"),
    path("releases/", releases.releases, name="releases"),
    re_path(rf"^releases/{RELEASE}/$", releases.release, name="release"),
    re_path(rf"^releases/{RELEASE}/archive/$", releases.release_file, name="release_file"),
]

urlpatterns: Urls = [
    path("campaigns/<slug:slug>/", include(report_urls)),
    path("campaigns/<slug:slug>/", include(board_urls)),
]

# /api/v1/campaigns/<slug>/
api_urlpatterns: Urls = [
    path("plan/", api.plan_of, name="api_plan"),
    path("reports/<str:kind>/", api.report_of, name="api_report"),
    path("submissions/", api.submissions, name="api_submissions"),
    path("submissions/<int:pk>/", api.submission, name="api_submission"),
    re_path(
        r"^submissions/(?P<pk>[0-9]{1,9})/(?P<name>precision-recall|reliability)/$",
        api.curve,
        name="api_curve",
    ),
    path("leaderboard/", api.board, name="api_board"),
    path("releases/", api.releases, name="api_releases"),
    re_path(rf"^releases/{RELEASE}/archive/$", api.release_archive, name="api_release_archive"),
]
