"""The pages of this app, readable as a sitemap. A page's address, view and template carry one name."""

from django.urls import URLPattern, URLResolver, include, path, re_path

from annotation.views import (
    accounts,
    campaign_settings,
    campaigns,
    exports,
    health,
    hours,
    imports,
    items,
    jobs,
    notice,
    parts,
    people,
    practice,
    questions,
    seat,
    surplus,
)

Urls = list[URLPattern | URLResolver]

# /account/
account_urls: Urls = [
    path("", accounts.account, name="account"),
    path("password/", accounts.password_change, name="password_change"),
    path("tokens/", accounts.token_create, name="token_create"),
    path("tokens/<int:pk>/revoke/", accounts.token_revoke, name="token_revoke"),
]

# /campaigns/<slug>/
seat_urls: Urls = [
    path("work/", seat.work, name="work"),
    path("judge/", seat.judge, name="judge"),
    path("history/", seat.history, name="history"),
    path("parts/<int:index>/hand-in/", seat.hand_in, name="hand_in"),
    path("guidelines/", seat.guidelines, name="guidelines"),
    path("practice/", practice.practice, name="practice"),
    path("practice/<int:number>/", practice.practice_unit, name="practice_unit"),
    path("hours/", hours.hours, name="hours"),
    path("my-questions/", questions.my_questions, name="my_questions"),
    path("my-questions/<int:pk>/read/", questions.question_read, name="question_read"),
]

manager_urls: Urls = [
    path("", campaigns.campaign, name="campaign"),
    path("names/", campaigns.campaign_names, name="campaign_names"),
    path("settings/", campaign_settings.campaign_settings, name="campaign_settings"),
    path("verify/", campaigns.verify, name="verify"),
    path("import/", imports.campaign_import, name="campaign_import"),
    path("import/<uuid:token>/", imports.import_preview, name="import_preview"),
    path("import/<uuid:token>/findings.csv", imports.import_findings, name="import_findings"),
    path("import/<uuid:token>/confirm/", imports.import_confirm, name="import_confirm"),
    path("import/<uuid:token>/discard/", imports.import_discard, name="import_discard"),
    path("items/", items.campaign_items, name="campaign_items"),
    path("items/<int:pk>/withdraw/", items.item_withdraw, name="item_withdraw"),
    path("items/<int:pk>/restore/", items.item_restore, name="item_restore"),
    path("questions/", questions.questions, name="questions"),
    path("questions/<int:pk>/answer/", questions.question_answer, name="question_answer"),
    path("surplus/", surplus.surplus, name="surplus"),
    path("assign/", parts.assign, name="assign"),
    path("parts/<int:index>/", parts.part, name="part"),
    path("parts/<int:index>/give-back/<int:pk>/", parts.part_give_back, name="part_give_back"),
    path("people/", people.people, name="people"),
    path("people/names/", people.people_names, name="people_names"),
    path("people/add/", people.person_add, name="person_add"),
    path("people/<int:pk>/invite/", people.person_invite, name="person_invite"),
    path("people/<int:pk>/close/", people.person_close, name="person_close"),
    path("people/<int:pk>/reopen/", people.person_reopen, name="person_reopen"),
    path("people/<int:pk>/remove/", people.person_remove, name="person_remove"),
    path("jobs/", jobs.jobs, name="jobs"),
    path("jobs/<int:pk>/", jobs.job, name="job"),
    path("jobs/<int:pk>/state/", jobs.job_state, name="job_state"),
    path("jobs/<int:pk>/retry/", jobs.job_retry, name="job_retry"),
    re_path(
        r"^export/(?P<what>items|labels|annotations)\.(?P<format>csv|jsonl|xlsx|parquet)$",
        exports.export,
        name="export",
    ),
    re_path(
        r"^export/names/annotations\.(?P<format>csv|jsonl|xlsx|parquet)$",
        exports.export_names,
        name="export_names",
    ),
]

urlpatterns: Urls = [
    path("", accounts.home, name="home"),
    path("healthz", health.healthz, name="healthz"),
    path("sign-in/", accounts.sign_in, name="sign_in"),
    path("sign-out/", accounts.sign_out, name="sign_out"),
    path("invitation/<str:token>/", accounts.invitation, name="invitation"),
    path("language/", accounts.set_language, name="set_language"),
    path("theme/", accounts.set_theme, name="set_theme"),
    path("account/", include(account_urls)),
    path("recorded/", notice.recorded, name="recorded"),
    path("campaigns/new/", campaigns.campaign_create, name="campaign_create"),
    path("campaigns/<slug:slug>/", include(seat_urls)),
    path("campaigns/<slug:slug>/", include(manager_urls)),
]
