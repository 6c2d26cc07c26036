from __future__ import annotations

import secrets
import time

from django.conf import settings
from django.core.validators import RegexValidator
from django.db import models

from backend.catalog.models import Query, QueryVersion
from backend.topologies.job_settings import JobSettings
from optimizer.algebra.settings import read
from optimizer.planner.settings import PlannerSettings

NAME = RegexValidator(r"\A[a-z][a-z0-9_-]{0,62}\Z", "lower-case letters, digits, _ and -, at most 63")


class Desired(models.TextChoices):
    RUNNING = "running", "running"
    STOPPED = "stopped", "stopped"


class Topology(models.Model):
    """A set of queries that one streaming job answers.

    `revision` counts requests to change the set or the plan. A task plans the newest revision
    (`claimed_revision` says that one is at it) and records success in `planned_revision` or
    failure in `failed_revision`; the supervisor then makes the job run `plan`.
    """

    name = models.CharField(max_length=63, unique=True, validators=[NAME])
    desired = models.CharField(max_length=7, choices=Desired.choices, default=Desired.STOPPED)
    planner = models.JSONField(default=dict)
    """`optimizer.planner.settings.PlannerSettings`, those that somebody chose."""
    job = models.JSONField(default=dict)
    """`JobSettings`, those that somebody chose: its job has them from its next start on."""
    memory_limit_bytes = models.PositiveBigIntegerField(null=True)
    """How much of its stores may be in memory, from its job's next start on; None for any amount."""

    revision = models.PositiveIntegerField(default=0)
    revised_at = models.DateTimeField(null=True)
    claimed_revision = models.PositiveIntegerField(default=0)
    claimed_at = models.DateTimeField(null=True)
    planned_revision = models.PositiveIntegerField(default=0)
    failed_revision = models.PositiveIntegerField(default=0)
    deployment_error = models.TextField(blank=True, default="")
    learnt = models.TextField(blank=True, default="")
    """What the running job has taught about its streams: `optimizer.adaptation.LearntStatistics`, as JSON."""
    evaluated_epoch = models.CharField(max_length=64, blank=True, default="")
    """The last epoch, `RUN:NUMBER`, from which that was learnt."""

    plan = models.ForeignKey("Plan", on_delete=models.PROTECT, null=True, related_name="+")
    """What should run."""
    active_plan = models.ForeignKey("Plan", on_delete=models.PROTECT, null=True, related_name="+")
    """What the job last said it runs."""
    current_run = models.OneToOneField("Run", on_delete=models.PROTECT, null=True, related_name="+")
    failures = models.PositiveIntegerField(default=0)
    """Runs that failed in a row; sets the back-off."""
    restart_at = models.DateTimeField(null=True)
    """Earliest time of the next launch after a failure."""
    halted = models.BooleanField(default=False)
    """Its job said that it would fail again: none is launched until somebody asks for one, changes which
    queries it answers, or sets another memory limit."""
    given_up = models.TextField(blank=True, default="")
    """The job's word that a batch makes too much (`jobs.protocol.BatchGivenUp`, as JSON), until a query is
    suspended for it."""
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    """Who deployed its first query."""
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("name",)
        verbose_name_plural = "topologies"

    def __str__(self) -> str:
        return self.name

    @property
    def planner_settings(self) -> PlannerSettings:
        """How its queries are planned."""
        return read(PlannerSettings, self.planner)

    @property
    def job_settings(self) -> JobSettings:
        """How its job works from the next start on."""
        return read(JobSettings, self.job)

    @property
    def answered(self) -> models.QuerySet[TopologyQuery]:
        """Its queries without those that are suspended."""
        return self.deployed.filter(suspended_at=None)


class TopologyQuery(models.Model):
    """That a topology answers a query, in one of its versions."""

    topology = models.ForeignKey(Topology, on_delete=models.CASCADE, related_name="deployed")
    query = models.OneToOneField(Query, on_delete=models.PROTECT, related_name="deployment")
    version = models.ForeignKey(QueryVersion, on_delete=models.PROTECT, related_name="+")
    revision = models.PositiveIntegerField()
    """The topology's revision that brought this version."""
    excess_batches = models.PositiveIntegerField(default=0)
    """Batches in a row in which it was above its limits."""
    excess = models.TextField(blank=True, default="")
    """What it has too much of, in one line; empty if it is within its limits."""
    suspended_at = models.DateTimeField(null=True)
    """Since when it is not answered, because of that; ends with its next deployment or undeployment."""

    class Meta:
        ordering = ("topology", "query__name")


class AskedQuery(models.Model):
    """That a topology was asked to answer a query, once or still.

    Plans, logs, audit and kept results speak of it for longer than it is answered, and than it is there.
    """

    topology = models.ForeignKey(Topology, on_delete=models.CASCADE, related_name="asked")
    query = models.ForeignKey(Query, on_delete=models.SET_NULL, null=True, related_name="asked")
    """None once it is deleted; then who reads what is left of it says the rest."""
    name = models.CharField(max_length=63, blank=True, default="")
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    team = models.ForeignKey("accounts.Team", on_delete=models.PROTECT, null=True, related_name="+")

    class Meta:
        ordering = ("pk",)
        constraints = (models.UniqueConstraint(fields=("topology", "query"), name="asked_once"),)

    def __str__(self) -> str:
        return f"{self.name or self.query} in plans and results of {self.topology}"


class QueryAllowance(models.Model):
    """That an operator lets a query cost more than its team's limits say."""

    query = models.OneToOneField(Query, on_delete=models.CASCADE, related_name="allowance")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("query__name",)

    def __str__(self) -> str:
        return f"{self.query}: above its limits"


class QueryPin(models.Model):
    """An operator's wish that one topology answers a query, running now or not."""

    query = models.OneToOneField(Query, on_delete=models.CASCADE, related_name="pin")
    topology = models.CharField(max_length=63, validators=[NAME])
    """By name: a topology is made when its first query is deployed."""
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ("query__name",)

    def __str__(self) -> str:
        return f"{self.query} on {self.topology}"


class Plan(models.Model):
    """A physical graph that was planned for a topology; never changed once written."""

    topology = models.ForeignKey(Topology, on_delete=models.CASCADE, related_name="plans")
    plan_id = models.CharField(max_length=100, unique=True)
    revision = models.PositiveIntegerField()
    graph = models.TextField()
    """`optimizer.physical.graph.PhysicalGraph.to_json`, read back through its schema."""
    text = models.TextField()
    """The explanation for people."""
    cause = models.CharField(max_length=255, default="deployed")
    """Why it was made; a switch to it repeats this."""
    learnt = models.TextField(blank=True, default="")
    """What the topology had learnt when it was made, see `Topology.learnt`."""
    running = models.TextField(blank=True, default="")
    """Where the next planning starts: `optimizer.planner.plan_in_use.Running`, as JSON; its queries are
    `versions`."""
    before = models.CharField(max_length=100, blank=True, default="")
    """The plan that it was weighed against by what was learnt; empty if it was not."""
    predicted_saving = models.FloatField(null=True)
    """Of cost, as tuples sent per second of event time: the same share of what that one sends."""
    actual_saving = models.FloatField(null=True)
    """What came about on average, from the first epoch a whole window behind the change on."""
    saving_epochs = models.PositiveIntegerField(default=0)
    """Over so many epochs."""
    method = models.CharField(max_length=20)
    status = models.CharField(max_length=10)
    probe = models.FloatField()
    storage = models.FloatField()
    latency = models.FloatField()
    individual_cost = models.FloatField()
    bound = models.FloatField(null=True)
    build_seconds = models.FloatField()
    solve_seconds = models.FloatField()
    versions = models.ManyToManyField(QueryVersion, related_name="plans")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-pk",)

    def __str__(self) -> str:
        return self.plan_id


class RunState(models.TextChoices):
    CREATED = "created", "created"
    STARTING = "starting", "starting"
    RUNNING = "running", "running"
    IDLE = "idle", "idle"
    STOPPING = "stopping", "stopping"
    STOPPED = "stopped", "stopped"
    FAILED = "failed", "failed"


ENDED = (RunState.STOPPED, RunState.FAILED)


def new_run_id() -> str:
    """Ids sort as text by the time of launch: pages and the consumer order runs by it."""
    return f"{time.time_ns() // 1_000_000:012x}{secrets.token_hex(2)}"


class Run(models.Model):
    """One process of a topology's streaming job, from launch to end."""

    id = models.CharField(primary_key=True, max_length=16, default=new_run_id, editable=False)
    topology = models.ForeignKey(Topology, on_delete=models.CASCADE, related_name="runs")
    state = models.CharField(max_length=8, choices=RunState.choices, default=RunState.CREATED)
    attempt = models.PositiveIntegerField(default=1)
    """1, or one more than the failures in a row before it."""
    pid = models.PositiveIntegerField(null=True)
    process_started_at = models.FloatField(null=True)
    """Unix seconds by the kernel's account; with the pid it names one process for ever."""
    host = models.CharField(max_length=255, blank=True, default="")
    plan = models.ForeignKey(Plan, on_delete=models.PROTECT, null=True, related_name="runs")
    """What the process was launched with."""
    sent_plan = models.ForeignKey(Plan, on_delete=models.PROTECT, null=True, related_name="+")
    """The last plan that it was told to run."""
    memory_limit_bytes = models.PositiveBigIntegerField(null=True)
    """The topology's, as the process was launched."""
    job = models.JSONField(default=dict)
    """Likewise its `JobSettings`."""
    batch = models.BigIntegerField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    heartbeat_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    stop_requested_at = models.DateTimeField(null=True)
    stop_mode = models.CharField(max_length=5, choices=[("now", "now"), ("drain", "drain")], default="now")
    error = models.TextField(blank=True, default="")
    error_detail = models.TextField(blank=True, default="")

    class Meta:
        ordering = ("-id",)

    def __str__(self) -> str:
        return f"{self.topology} {self.id}"

    @property
    def job_settings(self) -> JobSettings:
        """How the process works."""
        return read(JobSettings, self.job)


class PlanSwitch(models.Model):
    """That a job went over to a plan, at a batch boundary."""

    topology = models.ForeignKey(Topology, on_delete=models.CASCADE, related_name="switches")
    run = models.ForeignKey(Run, on_delete=models.SET_NULL, null=True, related_name="switches")
    event_id = models.CharField(max_length=42)
    plan_id = models.CharField(max_length=100)
    epoch = models.PositiveIntegerField()
    batch = models.BigIntegerField()
    cause = models.CharField(max_length=255)
    at = models.DateTimeField()

    class Meta:
        ordering = ("-pk",)
        constraints = (models.UniqueConstraint(fields=("topology", "event_id"), name="switch_event"),)
