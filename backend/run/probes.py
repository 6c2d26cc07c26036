"""Probe whether parts of the product can do their work.

Every question has an answer within seconds, also when the process that is asked is stopped, or so busy that
it seems to be.
"""

from __future__ import annotations

import urllib.error
import urllib.request

import kombu
import redis
from celery import Celery
from redis.backoff import NoBackoff
from redis.retry import Retry

_ANSWER_SECONDS = 2.0


def redis_client(url: str) -> redis.Redis:
    """A client that says within seconds that Redis is away.

    Raises `ValueError` if it is no Redis URL.
    """
    once = Retry(NoBackoff(), 0)
    return redis.Redis.from_url(
        url,
        decode_responses=True,
        socket_timeout=_ANSWER_SECONDS,
        socket_connect_timeout=_ANSWER_SECONDS,
        retry=once,
    )


def answers(url: str) -> bool:
    """Whether Redis is there, with all that it had on disk."""
    client = redis_client(url)
    try:
        return bool(client.ping())
    except redis.RedisError:
        return False
    finally:
        client.close()


def works(broker: str) -> bool:
    """Whether a Celery worker answers at this broker."""
    asking = Celery(broker=broker, set_as_current=False)
    # A pool would keep connections to the Redis before the last restart.
    asking.conf.broker_pool_limit = 0
    asking.conf.broker_connection_timeout = _ANSWER_SECONDS
    asking.conf.broker_transport_options = {
        "socket_timeout": _ANSWER_SECONDS,
        "socket_connect_timeout": _ANSWER_SECONDS,
    }
    try:
        return bool(asking.control.ping(timeout=1.0))
    except (kombu.exceptions.OperationalError, redis.RedisError):
        return False
    finally:
        asking.close()


def is_healthy(url: str) -> bool:
    """Whether a page is served there."""
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False
