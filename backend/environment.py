"""What the environment says, one variable a line.

`backend.shell.checks` says what is wrong with them.

MILLRACE_HOME               where everything lives that the product writes (.millrace)
DATABASE_URL                sqlite:///<MILLRACE_HOME>/millrace.sqlite3
REDIS_URL                   required: broker, control plane and ingestion
SECRET_KEY                  generated once into MILLRACE_HOME/secret_key
MILLRACE_DEBUG              1 turns Django's debug pages on
MILLRACE_HOSTS              comma-separated host names that the site answers to (localhost)
MILLRACE_ORIGINS            comma-separated origins trusted for CSRF behind a proxy (none)
MILLRACE_SECURE             1 behind TLS: cookies are sent over TLS only, plain HTTP is redirected
MILLRACE_HSTS_SECONDS       with MILLRACE_SECURE, how long browsers shall insist on TLS (3600)
MILLRACE_RATE_ACCOUNT       requests that one account or token may make of one web process (1200/min)
MILLRACE_RATE_ANONYMOUS     the same for one address that is not signed in (120/min)
MILLRACE_RATE_SIGN_IN       passwords that one address may try, right or wrong (30/min); of IPv6 a network of
                            64 bits counts as one address
MILLRACE_TRUSTED_PROXIES    addresses and networks of proxies, comma-separated (none): who asked, and whether
                            over TLS, is read from X-Forwarded-For and -Proto if they connect, else not
MILLRACE_OIDC_URL           issuer of an OpenID Connect provider that signs people in, too (none)
MILLRACE_OIDC_CLIENT        as what Millrace is registered there
MILLRACE_OIDC_SECRET        the client's secret (none: a public client)
MILLRACE_OIDC_NAME          what the page of signing in calls the provider (single sign-on)
MILLRACE_OIDC_GROUPS        the claim that has somebody's groups (groups)
MILLRACE_OIDC_TEAMS         teams by these groups, GROUP=TEAM comma-separated (none)
MILLRACE_OIDC_HOURS         after so long whoever came by the provider comes again (8)
MILLRACE_SECOND_FACTOR      admins or everybody: who of these has no second factor gets nothing but the page
                            that gives one (nobody must; docs/guide/sign-in.md)
MILLRACE_PRIVATE            1: what a team has is read by its members and admins alone, and what no team has
                            by its owner, but for teams that are made open (0: everybody reads everything, but
                            of teams that are made private)
MILLRACE_LISTENERS_ACCOUNT  live connections of pages that one account may have to one web process (20)
MILLRACE_LISTENERS          and all accounts together (1000)
MILLRACE_LOGIN_FAILURES     wrong passwords for one account from one address until both wait (10), and wrong
                            codes of a second factor for one account, from wherever, until it waits
MILLRACE_LOGIN_WAIT_SECONDS how long they wait (900)
MILLRACE_MAX_STATE_TUPLES   a query is deployed only if it alone keeps fewer tuples, as estimated (1e9)
MILLRACE_MAX_TUPLE_RATE     and if none of its steps makes more tuples per second, as estimated (1e9)
MILLRACE_STREAM_ENTRIES     tuples sent to the API that Redis keeps of a stream, about (1e6)
MILLRACE_RESULT_FILES       1 keeps all results and dead letters, <MILLRACE_HOME>/topologies/NAME/out (0):
                            programs may subscribe to results then
MILLRACE_RESULT_BYTES       of a topology; the oldest batches' go first (0: all stay)
MILLRACE_MAX_STATE_BYTES    a query that needs more state in every batch is suspended (1e11)
MILLRACE_MAX_RESULT_RATE    and so is one that gives more results per second in every batch (1e6)
MILLRACE_EXCESS_BATCHES     after so many batches in a row (20)
MILLRACE_MAX_COMBINATIONS   a query one of whose steps makes more in one batch and task is suspended at
                            once (5e6); bounds the memory of a batch
MILLRACE_KAFKA_SERVERS      brokers that streams may be read from, HOST:PORT (none); how to log in, and the
                            other MILLRACE_KAFKA_ settings, are in docs/guide/kafka.md
MILLRACE_SCHEMA_REGISTRY_URL
                            where values of topics may name their schemas (none); its login is in
                            docs/guide/kafka.md, too
MILLRACE_FILES_DIRECTORIES  directories whose files streams may be, NAME=PATH or NAME=s3://BUCKET/PREFIX, with
                            commas between (none): whoever may register streams may read all that lies there
                            (docs/guide/folders.md)
MILLRACE_S3_ENDPOINT, MILLRACE_S3_ACCESS_KEY, MILLRACE_S3_SECRET_KEY, MILLRACE_S3_REGION
                            the object store of those that are s3:// (Amazon's, as the machine may)
MILLRACE_POSTGRES_RESULTS_URL, MILLRACE_ICEBERG_CATALOG, MILLRACE_RESULTS_WEBHOOK_SECRET
                            where results may go, too (docs/guide/sinks.md)
MILLRACE_MASTER             the Spark master of the topologies' jobs (this machine)
MILLRACE_STATE              a URL under which they keep their stores (their checkpoints;
                            docs/guide/cluster.md)
MILLRACE_CHECK_SECONDS      what a running query published is compared with a batch join this often (60;
                            0: never)
MILLRACE_TASK_SECONDS       a worker's task that takes longer is ended (300)
MILLRACE_METRICS_TOKEN      lets Prometheus read /metrics; without it only operators may
MILLRACE_METRICS_PORT       where a Celery worker offers its own metrics (0: nowhere)
MILLRACE_LOG_FORMAT         line or json (line)
MILLRACE_LOG_LEVEL          INFO
MILLRACE_WEBHOOK_HOSTS      hosts that alerts and results are posted to, comma-separated, * in them
                            (any public one)
MILLRACE_WEBHOOK_PRIVATE    1 lets them be posted to private addresses
MILLRACE_WEBHOOK_CA         a file of further certificate authorities that webhooks may have (PEM)
MILLRACE_EMAIL              smtp://user:password@host:587?tls=1, smtps://... or file:///folder; without it,
                            no e-mail
MILLRACE_EMAIL_FROM         the sender of alerts (millrace@localhost)
MILLRACE_METHOD             the optimization method of new topologies (ilp)
MILLRACE_PLAN_SECONDS       the solver's time limit for a topology (5)
MILLRACE_WORK_PROCESSES     processes in which a web process plans, previews and converts for people (2)
MILLRACE_WORK_SECONDS       processor time of one such request; in wall time, three times as long (10)
MILLRACE_WORK_BYTES         memory that one may use (5e8)
MILLRACE_WORK_PER_ACCOUNT   how many of one account's are worked at or wait, in a web process (4)
MILLRACE_HEARTBEAT_SECONDS  a job silent for longer is dead (10)
MILLRACE_START_SECONDS      a job may take this long from launch to its first heartbeat (120)
MILLRACE_STUCK_SECONDS      a job that commits nothing while tuples wait for longer is stuck (300)
MILLRACE_TRIGGER_MS         trigger interval of new topologies (500)
MILLRACE_PARALLELISM        tasks of the stores whose stream sets none (the processors, at most 4)
MILLRACE_MOST_QUERIES       queries that one topology is given before another one is begun (200)
MILLRACE_QUOTA_TOPOLOGIES   topologies that may answer queries of one account's making (5); operators, whom no
                            quota holds, set others for an account or a team on Accounts
MILLRACE_QUOTA_STREAMS      streams that one account may have (200)
MILLRACE_QUOTA_QUERIES      queries that one account may have made (500)
MILLRACE_QUOTA_VERSIONS     versions of one query (1000)
MILLRACE_QUOTA_ALERTS       alerts that one account may have (100)
MILLRACE_QUOTA_TOKENS       tokens that one account may have (100)
MILLRACE_SERVICE_ACCOUNTS   service accounts that one team may have (20)
MILLRACE_AUDIT_DAYS         how long the audit trail is kept (400; 0: for ever)
MILLRACE_PRICE_CORE_HOUR    what a core costs for an hour, for the page of costs (0: no money is shown)
MILLRACE_PRICE_GB_HOUR      and a GB of memory (0)
MILLRACE_CURRENCY           of both (EUR)
MILLRACE_MAX_JOBS           topologies' jobs that run at once; another one waits for its turn (one for every
                            2 GiB of this machine's memory, or of its control group's)
MILLRACE_DEMO               1 where the demo runs, as `backend.run` tells the other processes (0): the page of
                            signing in names its account
MILLRACE_DEMO_PASSWORD      password of the demo account (millrace)
"""

from __future__ import annotations

import os
import secrets
import sys
from contextlib import suppress
from pathlib import Path

import psutil

from backend.privacy import keep_private

BASE_DIR = Path(__file__).resolve().parent.parent


def _list(name: str, default: str = "") -> list[str]:
    return [part.strip() for part in os.environ.get(name, default).split(",") if part.strip()]


MILLRACE_NOT_NUMBERS: dict[str, str] = {}
"""Texts where a number is expected, by name of the setting: a system check reports them."""
MILLRACE_LEAST: dict[str, float] = {}
"""The smallest that each number may be, by name of the setting, for the same check."""


def _number(name: str, default: float, least: float) -> float:
    """The number, or the default where the text is none."""
    MILLRACE_LEAST[name] = least
    text = os.environ.get(name, "")
    try:
        return float(text) if text else default
    except ValueError:
        MILLRACE_NOT_NUMBERS[name] = text
        return default


def _memory_bytes() -> int:
    """The memory of this machine, or less if its control group has less."""
    present = psutil.virtual_memory().total
    with suppress(OSError, ValueError):
        # "max" where there is no limit.
        return min(present, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return present


def _secret_key(home: Path) -> str:
    """The key given, or one that is made once, so that sessions outlive a restart."""
    given = os.environ.get("SECRET_KEY")
    if given:
        return given
    file = home / "secret_key"
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return file.read_text().strip()
    with os.fdopen(descriptor, "w") as stream:
        key = secrets.token_urlsafe(50)
        stream.write(key)
    return key


MILLRACE_HOME = Path(os.environ.get("MILLRACE_HOME") or BASE_DIR / ".millrace").resolve()
keep_private(MILLRACE_HOME)

SECRET_KEY = _secret_key(MILLRACE_HOME)
DEBUG = os.environ.get("MILLRACE_DEBUG") == "1"
ALLOWED_HOSTS = _list("MILLRACE_HOSTS", "localhost,127.0.0.1,[::1]")
CSRF_TRUSTED_ORIGINS = _list("MILLRACE_ORIGINS")
SECURE = os.environ.get("MILLRACE_SECURE") == "1"
MILLRACE_TRUSTED_PROXIES = _list("MILLRACE_TRUSTED_PROXIES")

REDIS_URL = os.environ.get("REDIS_URL", "")
MILLRACE_METHOD = os.environ.get("MILLRACE_METHOD", "ilp")
MILLRACE_PLAN_SECONDS = _number("MILLRACE_PLAN_SECONDS", 5.0, least=0.1)
MILLRACE_WORK_PROCESSES = _number("MILLRACE_WORK_PROCESSES", 2.0, least=1.0)
MILLRACE_WORK_SECONDS = _number("MILLRACE_WORK_SECONDS", 10.0, least=1.0)
MILLRACE_WORK_BYTES = _number("MILLRACE_WORK_BYTES", 5e8, least=1e8)
# What workers do is imported once, by the server that they are forked from.
MILLRACE_WORK_PRELOAD = "backend.planning.preload"
MILLRACE_WORK_PER_ACCOUNT = _number("MILLRACE_WORK_PER_ACCOUNT", 4.0, least=1.0)
MILLRACE_HEARTBEAT_SECONDS = _number("MILLRACE_HEARTBEAT_SECONDS", 10.0, least=3.0)
MILLRACE_START_SECONDS = _number("MILLRACE_START_SECONDS", 120.0, least=5.0)
MILLRACE_STUCK_SECONDS = _number("MILLRACE_STUCK_SECONDS", 300.0, least=1.0)
MILLRACE_TRIGGER_MS = _number("MILLRACE_TRIGGER_MS", 500.0, least=1.0)
MILLRACE_PARALLELISM = _number("MILLRACE_PARALLELISM", float(min(4, os.cpu_count() or 1)), least=1.0)
MILLRACE_MOST_QUERIES = _number("MILLRACE_MOST_QUERIES", 200.0, least=1.0)
MILLRACE_QUOTA_TOPOLOGIES = _number("MILLRACE_QUOTA_TOPOLOGIES", 5.0, least=0.0)
MILLRACE_QUOTA_STREAMS = _number("MILLRACE_QUOTA_STREAMS", 200.0, least=0.0)
MILLRACE_QUOTA_QUERIES = _number("MILLRACE_QUOTA_QUERIES", 500.0, least=0.0)
MILLRACE_QUOTA_VERSIONS = _number("MILLRACE_QUOTA_VERSIONS", 1000.0, least=1.0)
MILLRACE_QUOTA_ALERTS = _number("MILLRACE_QUOTA_ALERTS", 100.0, least=0.0)
MILLRACE_QUOTA_TOKENS = _number("MILLRACE_QUOTA_TOKENS", 100.0, least=0.0)
MILLRACE_SERVICE_ACCOUNTS = _number("MILLRACE_SERVICE_ACCOUNTS", 20.0, least=0.0)
MILLRACE_AUDIT_DAYS = _number("MILLRACE_AUDIT_DAYS", 400.0, least=0.0)
MILLRACE_PRICE_CORE_HOUR = _number("MILLRACE_PRICE_CORE_HOUR", 0.0, least=0.0)
MILLRACE_PRICE_GB_HOUR = _number("MILLRACE_PRICE_GB_HOUR", 0.0, least=0.0)
MILLRACE_CURRENCY = os.environ.get("MILLRACE_CURRENCY") or "EUR"
MILLRACE_MAX_JOBS = _number("MILLRACE_MAX_JOBS", float(max(1, _memory_bytes() // (2 << 30))), least=1.0)
MILLRACE_HSTS_SECONDS = _number("MILLRACE_HSTS_SECONDS", 3600.0, least=0.0)
MILLRACE_LISTENERS_ACCOUNT = _number("MILLRACE_LISTENERS_ACCOUNT", 20.0, least=1.0)
MILLRACE_LISTENERS = _number("MILLRACE_LISTENERS", 1000.0, least=1.0)
MILLRACE_LOGIN_FAILURES = _number("MILLRACE_LOGIN_FAILURES", 10.0, least=1.0)
MILLRACE_LOGIN_WAIT_SECONDS = _number("MILLRACE_LOGIN_WAIT_SECONDS", 900.0, least=1.0)
MILLRACE_MAX_STATE_TUPLES = _number("MILLRACE_MAX_STATE_TUPLES", 1e9, least=1.0)
MILLRACE_MAX_TUPLE_RATE = _number("MILLRACE_MAX_TUPLE_RATE", 1e9, least=1.0)
MILLRACE_STREAM_ENTRIES = _number("MILLRACE_STREAM_ENTRIES", 1e6, least=1.0)
MILLRACE_MAX_STATE_BYTES = _number("MILLRACE_MAX_STATE_BYTES", 1e11, least=1.0)
MILLRACE_MAX_RESULT_RATE = _number("MILLRACE_MAX_RESULT_RATE", 1e6, least=1.0)
MILLRACE_EXCESS_BATCHES = _number("MILLRACE_EXCESS_BATCHES", 20.0, least=1.0)
MILLRACE_MAX_COMBINATIONS = _number("MILLRACE_MAX_COMBINATIONS", 5e6, least=1.0)
MILLRACE_RATES = {
    "user": os.environ.get("MILLRACE_RATE_ACCOUNT", "1200/min"),
    "anon": os.environ.get("MILLRACE_RATE_ANONYMOUS", "120/min"),
    "sign_in": os.environ.get("MILLRACE_RATE_SIGN_IN", "30/min"),
}
MILLRACE_CHECK_SECONDS = _number("MILLRACE_CHECK_SECONDS", 60.0, least=0.0)
MILLRACE_TASK_SECONDS = _number("MILLRACE_TASK_SECONDS", 300.0, least=1.0)
MILLRACE_METRICS_TOKEN = os.environ.get("MILLRACE_METRICS_TOKEN", "")
MILLRACE_METRICS_PORT = _number("MILLRACE_METRICS_PORT", 0.0, least=0.0)
MILLRACE_LOG_FORMAT = os.environ.get("MILLRACE_LOG_FORMAT", "line")
_RESULTS = (
    *("MILLRACE_KAFKA_SERVERS", "MILLRACE_POSTGRES_RESULTS_URL", "MILLRACE_ICEBERG_CATALOG"),
    "MILLRACE_RESULTS_WEBHOOK_SECRET",
)
MILLRACE_RESULT_SERVERS = tuple(name for name in _RESULTS if os.environ.get(name, "").strip())
MILLRACE_MASTER = os.environ.get("MILLRACE_MASTER", "")
MILLRACE_STATE = os.environ.get("MILLRACE_STATE", "")
MILLRACE_JOB_COMMAND = [
    *(sys.executable, "-m", "jobs", "run"),
    *(("--master", MILLRACE_MASTER) if MILLRACE_MASTER else ()),
    *(("--state", MILLRACE_STATE) if MILLRACE_STATE else ()),
]
MILLRACE_RESULT_FILES = os.environ.get("MILLRACE_RESULT_FILES") == "1"
MILLRACE_RESULT_BYTES = _number("MILLRACE_RESULT_BYTES", 0.0, least=0.0)
MILLRACE_WEBHOOK_HOSTS = _list("MILLRACE_WEBHOOK_HOSTS")
MILLRACE_WEBHOOK_PRIVATE = os.environ.get("MILLRACE_WEBHOOK_PRIVATE") == "1"
MILLRACE_WEBHOOK_CA = os.environ.get("MILLRACE_WEBHOOK_CA", "")
MILLRACE_EMAIL = os.environ.get("MILLRACE_EMAIL", "")
MILLRACE_EMAIL_FROM = os.environ.get("MILLRACE_EMAIL_FROM", "millrace@localhost")
MILLRACE_OIDC_URL = os.environ.get("MILLRACE_OIDC_URL", "")
MILLRACE_OIDC_CLIENT = os.environ.get("MILLRACE_OIDC_CLIENT", "millrace")
MILLRACE_OIDC_SECRET = os.environ.get("MILLRACE_OIDC_SECRET", "")
MILLRACE_OIDC_NAME = os.environ.get("MILLRACE_OIDC_NAME", "single sign-on")
MILLRACE_OIDC_GROUPS = os.environ.get("MILLRACE_OIDC_GROUPS", "groups")
MILLRACE_OIDC_TEAMS = os.environ.get("MILLRACE_OIDC_TEAMS", "")
MILLRACE_OIDC_HOURS = _number("MILLRACE_OIDC_HOURS", 8.0, least=0.1)
MILLRACE_SECOND_FACTOR = os.environ.get("MILLRACE_SECOND_FACTOR", "")
MILLRACE_PRIVATE = os.environ.get("MILLRACE_PRIVATE") == "1"
MILLRACE_DEMO = os.environ.get("MILLRACE_DEMO") == "1"
DEFAULT_DEMO_PASSWORD = "millrace"
MILLRACE_DEMO_PASSWORD = os.environ.get("MILLRACE_DEMO_PASSWORD", DEFAULT_DEMO_PASSWORD)
MILLRACE_LOG_LEVEL = os.environ.get("MILLRACE_LOG_LEVEL", "INFO")
