"""The pages and the addresses for programs of this app: what labels amount to, submissions, releases."""

from django.urls import URLPattern, URLResolver, include, path, re_path

from scoring import api, benchmark_api
from scoring.views import (
    checks,
    compute,
    differing,
    downstream,
    dry_runs,
    evidence,
    gold,
    pictures,
    plans,
    releases,
    report_items,
    reports,
    spot_checks,
    submissions,
)

Urls = list[URLPattern | URLResolver]

WHAT_IF = r"(?P<kind>what-if)"

PAGES = "error-rates|comparison|agreement|bleu|statistics|human|artifacts|methods"

KIND = rf"(?P<kind>{PAGES})"

FILES = rf"(?P<kind>{PAGES}|what-if)"

ITEMS = r"(?P<kind>error-rates|agreement|bleu|statistics|human|artifacts|compound-check|what-if)"

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
    path("reports/evidence/", evidence.evidence, name="evidence"),
    path("reports/comparison/triples/", differing.differing_triples, name="differing_triples"),
    re_path(rf"^labels/{WHAT_IF}/$", reports.report, name="what_if"),
    re_path(rf"^reports/{CHECK}/$", checks.check, name="check"),
    re_path(rf"^reports/{KIND}/$", reports.report, name="report"),
    re_path(rf"^reports/{ITEMS}/items/$", report_items.report_items, name="report_items"),
    re_path(rf"^reports/{FILES}\.(?P<format>md|tex|csv|json)$", reports.report_file, name="report_file"),
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

# /campaigns/<slug>/
dry_run_urls: Urls = [
    path("rounds/dry-run/new/", dry_runs.dry_run_new, name="dry_run_new"),
    path("rounds/dry-run/<int:number>/", dry_runs.dry_run, name="dry_run"),
    path("rounds/dry-run/<int:number>/close/", dry_runs.dry_run_close, name="dry_run_close"),
    path("rounds/dry-run/<int:number>/decide/", dry_runs.dry_run_decide, name="dry_run_decide"),
    path("rounds/dry-run/<int:number>/override/", dry_runs.dry_run_override, name="dry_run_override"),
    path("rounds/dry-run/<int:number>/reopen/", dry_runs.dry_run_reopen, name="dry_run_reopen"),
    path("rounds/dry-run/<int:number>/take-back/", dry_runs.dry_run_take_back, name="dry_run_take_back"),
]

# /campaigns/<slug>/
spot_check_urls: Urls = [
    path("rounds/spot-check/new/", spot_checks.spot_check_new, name="spot_check_new"),
    path("rounds/spot-check/<int:number>/", spot_checks.spot_check, name="spot_check"),
    path("rounds/spot-check/<int:number>/decide/", spot_checks.spot_check_decide, name="spot_check_decide"),
    re_path(
        r"^rounds/spot-check/(?P<number>[0-9]{1,5})/report\.(?P<format>md|tex|csv|json)$",
        spot_checks.spot_check_file,
        name="spot_check_file",
    ),
]

# /campaigns/<slug>/
gold_urls: Urls = [
    path("gold/", gold.gold, name="gold"),
    path("gold/mark/", gold.gold_mark, name="gold_mark"),
    path("gold/upload/", gold.gold_upload, name="gold_upload"),
    path("gold/<int:pk>/unmark/", gold.gold_unmark, name="gold_unmark"),
    re_path(r"^gold/figures\.(?P<format>md|tex|csv|json)$", gold.gold_file, name="gold_file"),
]

# /campaigns/<slug>/
downstream_urls: Urls = [
    path("downstream/", downstream.downstream, name="downstream"),
    re_path(
        r"^downstream/accuracies\.(?P<format>md|tex|csv|json)$",
        downstream.accuracies_file,
        name="accuracies_file",
    ),
    path("downstream/<int:pk>/", downstream.benchmark, name="benchmark"),
    path("downstream/<int:pk>/remove/", downstream.benchmark_remove, name="benchmark_remove"),
    path("downstream/<int:pk>/score/", downstream.benchmark_score, name="benchmark_score"),
    re_path(
        r"^downstream/(?P<pk>[0-9]{1,9})/board\.(?P<format>md|tex|csv|json)$",
        downstream.benchmark_file,
        name="benchmark_file",
    ),
    re_path(
        r"^downstream/(?P<pk>[0-9]{1,9})/questions\.(?P<format>csv|jsonl|xlsx|parquet)$",
        downstream.benchmark_questions,
        name="benchmark_questions",
    ),
    path(
        "downstream/submissions/<int:pk>/remove/",
        downstream.benchmark_submission_remove,
        name="benchmark_submission_remove",
    ),
]

urlpatterns: Urls = [
    path("campaigns/<slug:slug>/", include(downstream_urls)),
    path("campaigns/<slug:slug>/", include(gold_urls)),
    path("campaigns/<slug:slug>/", include(spot_check_urls)),
    path("campaigns/<slug:slug>/", include(dry_run_urls)),
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
    path("benchmarks/", benchmark_api.benchmarks, name="api_benchmarks"),
    path("benchmarks/<int:pk>/", benchmark_api.benchmark, name="api_benchmark"),
    path("benchmarks/<int:pk>/questions/", benchmark_api.questions, name="api_benchmark_questions"),
    path("benchmarks/<int:pk>/submissions/", benchmark_api.submissions, name="api_benchmark_submissions"),
    path("releases/", api.releases, name="api_releases"),
    re_path(rf"^releases/{RELEASE}/archive/$", api.release_archive, name="api_release_archive"),
]
