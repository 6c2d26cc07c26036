"""Webhook: results are posted to a URL, signed with the deployment's secret."""

from __future__ import annotations

import argparse
import os
from typing import get_args

from jobs.protocol.webhooks import NotAllowed, check, policy_of
from jobs.sinks.connector import Sink, SinkConnector
from jobs.sinks.webhook.record import Per
from optimizer.algebra.errors import InputError, Place

SECRET = "MILLRACE_RESULTS_WEBHOOK_SECRET"
PER = "MILLRACE_RESULTS_WEBHOOK_PER"
_OPTION = "--results-webhook"
_PER_OPTION = "--results-webhook-per"
_PER: tuple[Per, ...] = get_args(Per)


class WebhookResults(SinkConnector):
    option = _OPTION

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            _OPTION, metavar="URL", default=os.environ.get("MILLRACE_RESULTS_WEBHOOK") or None,
            help="also post results to this address (default: MILLRACE_RESULTS_WEBHOOK)",
        )  # fmt: skip
        parser.add_argument(
            _PER_OPTION, choices=_PER, default=os.environ.get(PER) or _PER[0],
            help="what a request carries: a batch's results, as many as fit, or a single result "
            f"(default: {PER}, or {_PER[0]})",
        )  # fmt: skip

    def open(self, given: argparse.Namespace, identity: str) -> Sink:
        secret, policy = os.environ.get(SECRET, "").strip(), policy_of(os.environ)
        if not secret:
            expected = f"a secret that requests are signed with, for {_OPTION}"
            raise InputError("bad-option", Place("environment", path=SECRET), "nothing", expected)
        try:
            check(given.results_webhook, policy)
        except NotAllowed as error:
            place = Place("command line", path=_OPTION)
            raise InputError("bad-option", place, str(error), "an address that may be posted to") from error
        if given.results_webhook_per not in _PER:
            # argparse does not look at what the environment says.
            expected = f"one of {', '.join(_PER)}"
            raise InputError(
                "bad-option", Place("environment", path=PER), given.results_webhook_per, expected
            )
        from jobs.sinks.webhook.posts import WebhookSink

        record = given.checkpoint.absolute() / "webhook.json"
        return WebhookSink(given.results_webhook, secret, policy, identity, record, given.results_webhook_per)


SINK = WebhookResults()
