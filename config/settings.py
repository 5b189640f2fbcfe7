"""All settings, in one file. What may differ between machines comes from the environment (see README)."""

from pathlib import Path
from typing import Any

from csp.constants import NONE, SELF
from django.core.management.utils import get_random_secret_key
from django.utils.translation import gettext_lazy as _

from config.env import (
    env_bool,
    env_database,
    env_folder,
    env_int,
    env_list,
    env_str,
    env_url,
    env_zone,
    secret_key,
)

BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = env_folder("ASSAY_DATA_DIR", "var")

DEBUG = env_bool("DEBUG")
SECRET_KEY = secret_key(DATA_DIR, make=get_random_secret_key())

# Where we are

HOST = env_str("HOST", "127.0.0.1")
PORT = env_int("PORT", 8000, high=65_535)
_public = env_url("ASSAY_URL", f"http://{'127.0.0.1' if HOST == '0.0.0.0' else HOST}:{PORT}")
ASSAY_URL = _public.geturl()

ALLOWED_HOSTS = env_list("ALLOWED_HOSTS") or ["127.0.0.1", "localhost", "[::1]"]
if _public.hostname and _public.hostname not in ALLOWED_HOSTS:
    ALLOWED_HOSTS.append(_public.hostname)
CSRF_TRUSTED_ORIGINS = [f"{_public.scheme}://{_public.netloc}"]

WEB_WORKERS = env_int("WEB_WORKERS", 1)
WORKER_CONCURRENCY = env_int("WORKER_CONCURRENCY", 2)
JOB_LEASE = env_int("ASSAY_JOB_LEASE", 60)  # seconds without a sign of life until a job is taken up again

# The house

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
AUTH_USER_MODEL = "annotation.User"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

INSTALLED_APPS = [
    "config",
    "scoring",
    "annotation",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "axes",
    "csp",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "config.middleware.content_policy",
    "config.middleware.private_responses",
    "config.middleware.storable_text",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "config.middleware.SignInRequired",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "axes.middleware.AxesMiddleware",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

# Data

_SQLITE = f"sqlite:///{DATA_DIR / 'assay.sqlite3'}"
DATABASE_URL = env_str("DATABASE_URL", _SQLITE)
if DATABASE_URL.startswith("sqlite"):
    _path = Path(env_database("DATABASE_URL", _SQLITE)["NAME"])
    DATABASES: dict[str, Any] = {
        "default": {
            "ENGINE": "config.sqlite",
            "NAME": _path.absolute(),
            "CONN_MAX_AGE": 600,  # opening the file and its pragmas cost ten times what a query does
            # IMMEDIATE: a transaction that will write takes its place at once, instead of failing half-way with
            # "database is locked". FULL: an acknowledged judgement survives a power cut.
            "OPTIONS": {
                "transaction_mode": "IMMEDIATE",
                "timeout": 30,
                "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON;",
            },
        }
    }
else:
    DATABASES = {
        "default": env_database(
            "DATABASE_URL", _SQLITE, engine="config.postgresql", conn_max_age=600, conn_health_checks=True
        )
    }

REDIS_URL = env_str("REDIS_URL")

# People

AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "django.contrib.auth.backends.ModelBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "sign_in"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "sign_in"

# Signed cookies: saving an answer writes no session, and reading one costs no query. A changed password ends
# every session of its owner.
SESSION_ENGINE = "config.sessions"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
MESSAGE_STORAGE = "django.contrib.messages.storage.cookie.CookieStorage"

AXES_FAILURE_LIMIT = 10
AXES_COOLOFF_TIME = 0.25  # hours
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_RESET_ON_SUCCESS = True
AXES_LOCKOUT_TEMPLATE = "annotation/locked_out.html"
AXES_VERBOSE = False
AXES_ENABLE_ACCESS_FAILURE_LOG = False

# Safety

_HTTPS = _public.scheme == "https"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _HTTPS
SECURE_HSTS_SECONDS = 31_536_000 if _HTTPS else 0
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if _HTTPS else None
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CSRF_FAILURE_VIEW = "annotation.views.csrf.csrf_failure"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
        "manifest-src": [SELF],
        "worker-src": [SELF],
    }
}
DATA_UPLOAD_MAX_MEMORY_SIZE = 10 * 1024 * 1024
DATA_UPLOAD_MAX_NUMBER_FIELDS = 20_000  # of a screen of 1,000 rows, filled in without script
FILE_UPLOAD_HANDLERS = ["django.core.files.uploadhandler.TemporaryFileUploadHandler"]

# Languages and time

LANGUAGE_CODE = "en"
LANGUAGES = [("en", _("English")), ("zh-hans", _("Simplified Chinese"))]
LOCALE_PATHS = [BASE_DIR / "locale"]
FORMAT_MODULE_PATH = ["config.formats"]
LANGUAGE_COOKIE_AGE = 31_536_000
LANGUAGE_COOKIE_SAMESITE = "Lax"
TIME_ZONE = env_zone("TZ", "UTC")
USE_TZ = True

# Files that do not change

STATIC_URL = "/static/"
STATIC_ROOT = DATA_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "config.storage.HashedFiles"},
}
MEDIA_ROOT = DATA_DIR / "files"

# Programs ask here

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "annotation.api.authentication.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": [
        "rest_framework.permissions.IsAuthenticated",
        "annotation.api.permissions.MeantForCaller",
        "annotation.api.parameters.KnownParameters",
    ],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_METADATA_CLASS": None,  # OPTIONS would describe an address before its role is looked at
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "annotation.api.errors.answer",
    "URL_FORMAT_OVERRIDE": None,  # ?format= chooses a stream, not a renderer
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Assay",
    "DESCRIPTION": "Labels, annotations and reports of a campaign; an expert's own work.",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
}

# Logs: never an answer, a label, a token

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{asctime} {levelname} {name} {message}", "style": "{"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": "WARNING"},
    "loggers": {"assay": {"level": "INFO"}, "django.request": {"level": "ERROR"}},
}
