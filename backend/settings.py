"""What Django and its applications are told."""

# ruff: noqa: F403, F405
# Django's settings are one module's names.

from __future__ import annotations

from datetime import timedelta
from urllib.parse import parse_qs, unquote, urlsplit

import dj_database_url

from backend.environment import *

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "servestatic",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "axes",
    # Before django-allauth: it has templates in the place of theirs.
    "backend.sign_on",
    "allauth",
    "allauth.account",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "allauth.mfa",
    "allauth.usersessions",
    "backend.second_factor",
    "backend.shell",
    "backend.audit",
    "backend.accounts",
    "backend.streams",
    "backend.catalog",
    "backend.topologies",
    "backend.live",
    "backend.runs",
    "backend.deployments",
    "backend.persons",
    "backend.tokens",
    "backend.dead_letters",
    "backend.alerts",
    "backend.oracle",
    "backend.applied",
    "backend.forecasts",
    "backend.history",
    "backend.budgets",
    "backend.demo",
]

MIDDLEWARE = [
    # First: it says from which address a request comes.
    "backend.http.proxies.TrustedProxies",
    "backend.observation.requests.RequestMetrics",
    # Before a body is read.
    "backend.accounts.throttles.SignIn",
    # Before a request has a thread.
    "backend.http.gates.Gates",
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "servestatic.middleware.ServeStaticMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    # Before what may change something: the audit trail says through what.
    "backend.audit.origin.Requests",
    "allauth.account.middleware.AccountMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "backend.second_factor.gate.Gate",
    # Last: it answers a sign-in that has to wait.
    "axes.middleware.AxesMiddleware",
]

AUTHENTICATION_BACKENDS = [
    # First: refuses who has to wait, before a password is looked at.
    "axes.backends.AxesStandaloneBackend",
    # Passwords and sessions, of persons alone.
    "backend.service_accounts.sign_in.PersonBackend",
]

ROOT_URLCONF = "backend.urls"
ASGI_APPLICATION = "backend.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
            ],
        },
    },
]

DATABASES = {
    "default": dj_database_url.config(
        default=f"sqlite:///{MILLRACE_HOME / 'millrace.sqlite3'}", conn_health_checks=True
    )
}
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    # Web server, worker and beat write at once: readers must not block writers, and a writer waits
    # for its turn at BEGIN, where SQLite honours the timeout, not at its first write.
    DATABASES["default"]["OPTIONS"] = {
        "timeout": 20,
        "transaction_mode": "IMMEDIATE",
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
    }

DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
# Sign-in by a provider: an account per subject, which no name and no address links to another one.
SOCIALACCOUNT_PROVIDERS = {
    "openid_connect": {
        "OAUTH_PKCE_ENABLED": True,
        "APPS": [
            {
                "provider_id": "oidc",
                "name": MILLRACE_OIDC_NAME,
                "client_id": MILLRACE_OIDC_CLIENT,
                "secret": MILLRACE_OIDC_SECRET,
                "settings": {"server_url": MILLRACE_OIDC_URL.rstrip("/")},
            }
        ],
    }
}
SOCIALACCOUNT_ADAPTER = "backend.sign_on.adapter.Adapter"
ACCOUNT_ADAPTER = "backend.sign_on.adapter.AccountAdapter"
MFA_ADAPTER = "backend.second_factor.adapter.Adapter"
MFA_TOTP_ISSUER = "Millrace"
# A code of half a minute ago counts, too: clocks differ, and people type.
MFA_TOTP_TOLERANCE = 1
# By a link: a form's target may not lead to another site, as the Content-Security-Policy says.
SOCIALACCOUNT_LOGIN_ON_GET = True
SOCIALACCOUNT_EMAIL_AUTHENTICATION = False
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_UNIQUE_EMAIL = False
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_SIGNUP_FIELDS = ["username*"]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "login"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE
SESSION_COOKIE_SAMESITE = "Lax"
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
if SECURE:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_SSL_REDIRECT = True
    # Asked by the machine itself and by Prometheus, not through the proxy.
    SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]
    SECURE_HSTS_SECONDS = int(MILLRACE_HSTS_SECONDS)
# The host's other names, and browsers' built-in lists, are not this product's to decide.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'self'"],
        "script-src": ["'self'"],
        # CodeMirror writes its theme into a style element.
        "style-src": ["'self'", "'unsafe-inline'"],
        "img-src": ["'self'", "data:"],
        "connect-src": ["'self'"],
        "object-src": ["'none'"],
        "base-uri": ["'none'"],
        "form-action": ["'self'"],
        "frame-ancestors": ["'none'"],
    }
}

# A password can be guessed at this rate only, whichever process is asked: attempts are in the database.
# By the same address as rates are.
AXES_CLIENT_IP_CALLABLE = "backend.http.proxies.holder"
AXES_FAILURE_LIMIT = int(MILLRACE_LOGIN_FAILURES)
AXES_COOLOFF_TIME = timedelta(seconds=MILLRACE_LOGIN_WAIT_SECONDS)
# Both together: nobody is kept out by what somebody else does at another address.
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_RESET_ON_SUCCESS = True
AXES_VERBOSE = False
AXES_LOCKOUT_TEMPLATE = "accounts/locked.html"

LANGUAGE_CODE = "en"
USE_I18N = False
TIME_ZONE = "UTC"
USE_TZ = True

FRONTEND_DIST = BASE_DIR / "frontend" / "dist"
STATIC_URL = "/static/"
STATIC_ROOT = MILLRACE_HOME / "static"
STATICFILES_DIRS = [("frontend", FRONTEND_DIST)] if FRONTEND_DIST.is_dir() else []
SERVESTATIC_USE_FINDERS = True
SERVESTATIC_MAX_AGE = 0 if DEBUG else 3600

# Rates are counted here, for more addresses than the default keeps.
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "OPTIONS": {"MAX_ENTRIES": 20_000},
    }
}

DATA_UPLOAD_MAX_MEMORY_SIZE = 8 * 1024 * 1024

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "rest_framework.authentication.SessionAuthentication",
        "backend.tokens.authentication.TokenAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": [
        "rest_framework.permissions.IsAuthenticated",
        "backend.tokens.authentication.WithinToken",
    ],
    # Counted in each web process' memory: a limit must hold when Redis does not answer.
    "DEFAULT_THROTTLE_CLASSES": [
        "backend.accounts.throttles.AccountRate",
        "backend.accounts.throttles.AddressRate",
    ],
    "DEFAULT_THROTTLE_RATES": MILLRACE_RATES,
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["backend.http.parsers.BoundedJSONParser"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "backend.http.error_responses.error_response",
}

SPECTACULAR_SETTINGS = {
    "TITLE": "Millrace",
    "DESCRIPTION": "Shared, adaptive multi-way stream joins in SQL.",
    "VERSION": "1",
    "SERVE_PERMISSIONS": ["rest_framework.permissions.AllowAny"],
    "SERVE_INCLUDE_SCHEMA": False,
    # Assets of the API page come from the package, so that it works without the internet.
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_NAME_OVERRIDES": {
        "StreamKindEnum": "backend.streams.models.KIND_CHOICES",
        "RunStateEnum": "backend.topologies.models.RunState",
        "LiveStateEnum": "backend.live.state.LIVE_STATE_CHOICES",
        "QueryStatusEnum": "backend.topologies.status.STATUS_CHOICES",
        "DesiredEnum": "backend.topologies.models.Desired",
        "DeploymentStateEnum": "backend.topologies.status.DEPLOYMENT_CHOICES",
        # Of several connectors.
        "FailOrSkipEnum": ["fail", "skip"],
        # Of a topic's values.
        "TopicFormatEnum": ["json", "avro", "protobuf"],
        "FileFormatEnum": ["parquet", "csv", "json"],
    },
}

_EMAIL = urlsplit(MILLRACE_EMAIL)
if _EMAIL.scheme == "file":
    EMAIL_BACKEND = "django.core.mail.backends.filebased.EmailBackend"
    EMAIL_FILE_PATH = unquote(_EMAIL.path)
else:
    EMAIL_HOST = _EMAIL.hostname or "localhost"
    EMAIL_USE_SSL = _EMAIL.scheme == "smtps"
    EMAIL_PORT = _EMAIL.port or (465 if EMAIL_USE_SSL else 25)
    EMAIL_HOST_USER = unquote(_EMAIL.username or "")
    EMAIL_HOST_PASSWORD = unquote(_EMAIL.password or "")
    EMAIL_USE_TLS = parse_qs(_EMAIL.query).get("tls") == ["1"]
    EMAIL_TIMEOUT = 10

CELERY_BROKER_URL = REDIS_URL
CELERY_RESULT_BACKEND = REDIS_URL
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_TRACK_STARTED = True
# A task is told to end, and what it says then is stored; its process is killed if it does not listen.
CELERY_TASK_SOFT_TIME_LIMIT = MILLRACE_TASK_SECONDS
CELERY_TASK_TIME_LIMIT = CELERY_TASK_SOFT_TIME_LIMIT + 30.0
CELERY_TIMEZONE = "UTC"
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
# A task that is lost with its worker is done again by the supervisor, which reads the database.
CELERY_TASK_ACKS_LATE = False
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_BEAT_SCHEDULE_FILENAME = str(MILLRACE_HOME / "celerybeat-schedule")
CELERY_BEAT_SCHEDULE = {
    "supervise": {
        "task": "topologies.supervise",
        "schedule": 2.0,
        # One that waited longer is superseded by the next.
        "options": {"expires": 4.0},
    },
    "alerts": {
        "task": "alerts.watch",
        "schedule": 5.0,
        "options": {"expires": 10.0},
    },
    "prune": {
        "task": "topologies.prune_results",
        "schedule": 30.0,
        "options": {"expires": 30.0},
    },
    "check": {
        "task": "oracle.check_all",
        "schedule": 5.0,
        "options": {"expires": 5.0},
    },
    "budgets": {
        "task": "budgets.take_in",
        "schedule": 60.0,
        "options": {"expires": 60.0},
    },
    "forecasts": {
        "task": "forecasts.judge",
        "schedule": 20.0,
        "options": {"expires": 20.0},
    },
    "history": {
        "task": "history.take_in",
        # A busy topology's events are kept for the better part of an hour.
        "schedule": 10.0,
        "options": {"expires": 10.0},
    },
    "prune history": {
        "task": "history.prune",
        "schedule": 600.0,
        "options": {"expires": 600.0},
    },
    "prune audit": {
        "task": "audit.prune",
        "schedule": 3600.0,
        "options": {"expires": 3600.0},
    },
    "adapt": {
        "task": "topologies.adapt",
        # Epochs last several seconds; one that is evaluated late only takes effect later.
        "schedule": 5.0,
        "options": {"expires": 10.0},
    },
}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"},
        "json": {"()": "backend.observation.logs.JSONFormatter"},
    },
    "handlers": {
        "console": {
            "class": "logging.StreamHandler",
            "formatter": "json" if MILLRACE_LOG_FORMAT == "json" else "line",
        },
        # A logger without any handler would write to the standard error after all.
        "nowhere": {"class": "logging.NullHandler"},
    },
    # Anybody may send a header with a host of no name: it is refused, without twenty lines of log.
    "loggers": {"django.security.DisallowedHost": {"handlers": ["nowhere"], "propagate": False}},
    "root": {"handlers": ["console"], "level": MILLRACE_LOG_LEVEL},
}
