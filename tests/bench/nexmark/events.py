"""Nexmark's people, auctions and bids, drawn from a seed as whole columns.

Of 50 events in a row one is a person, three are auctions and 46 are bids; hot sellers, bidders and auctions
change with every hundredth person or auction. Some ids run ahead of the events that introduce them.
`python -m tests.bench.nexmark.events DIR --events 50000` writes DIR/STREAM/part-0.parquet.
"""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa

START = datetime(2024, 1, 1, 23, 59, 45, tzinfo=UTC)
"""Before midnight, so that queries about days have two."""
RATE = 1000
"""Events per second of event time: each has a millisecond of its own, which no other has."""
LATENESS_S = 4
"""No event comes later than that; `streams.yaml` says the same."""
SIDE_KEYS = 10_000
"""Rows of q13's side input."""
_CYCLE, _AUCTIONS = 50, 3
_FIRST_ID = 1000
_ACTIVE_PEOPLE, _ACTIVE_AUCTIONS, _AHEAD, _PER_HOT = 1000, 100, 10, 100
_DISPLACED = 0.2
"""The share of events that come later than their event time says."""
_CHANNELS = 10_000
_HOT_CHANNELS = ("Google", "Facebook", "Baidu", "Apple")
_STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")
_CITIES = (
    "Phoenix",
    "Fresno",
    "Oakland",
    "Boise",
    "Portland",
    "Salem",
    "Tacoma",
    "Seattle",
    "Spokane",
    "Cheyenne",
)
_NAMES = ("Ada", "Alan", "Barbara", "Edgar", "Edsger", "Frances", "Grace", "Jim", "Leslie", "Tony")


def generate(events: int, seed: int) -> dict[str, pl.DataFrame]:
    """Every stream's tuples in the order of their arrival.

    >>> {name: rows.height for name, rows in generate(500, seed=1).items() if name != "side_input"}
    {'person': 10, 'auction': 30, 'bid': 460}
    """
    random = np.random.default_rng(seed)
    number = np.arange(events, dtype=np.int64)
    place = number % _CYCLE
    delay_us = random.integers(0, LATENESS_S * 1_000_000, events) * (random.random(events) < _DISPLACED)
    arrival = np.empty(events, dtype=np.int64)
    arrival[np.argsort(_time_us(number) + delay_us, kind="stable")] = number + SIDE_KEYS
    drawn = {
        "person": _people(number[place == 0], random),
        "auction": _auctions(number[(place > 0) & (place <= _AUCTIONS)], random),
        "bid": _bids(number[place > _AUCTIONS], random),
    }
    arriving = {name: rows.with_columns(_arrival=arrival[rows["_arrival"]]) for name, rows in drawn.items()}
    return {"side_input": _side_input()} | {name: rows.sort("_arrival") for name, rows in arriving.items()}


def write(data: Path, streams: dict[str, pl.DataFrame]) -> None:
    """Writes DATA/STREAM/part-0.parquet."""
    for name, rows in streams.items():
        (data / name).mkdir(parents=True)
        rows.write_parquet(data / name / "part-0.parquet")


def _people(number: np.ndarray, random: np.random.Generator) -> pl.DataFrame:
    count = len(number)
    family = _words(random, count, 6)
    return pl.DataFrame(
        {
            "id": number // _CYCLE + _FIRST_ID,
            "name": _one_of(_NAMES, random, count) + " " + family,
            "emailAddress": family + "@" + _words(random, count, 5) + ".com",
            "creditCard": pl.Series(random.integers(10**15, 10**16, count)).cast(pl.String),
            "city": _one_of(_CITIES, random, count),
            "state": _one_of(_STATES, random, count),
            "dateTime": _moments(_time_us(number)),
            "extra": _words(random, count, 130),
            "_arrival": number,
        }
    )


def _auctions(number: np.ndarray, random: np.random.Generator) -> pl.DataFrame:
    count = len(number)
    people = number // _CYCLE
    hot = random.random(count) < 0.75
    seller = np.where(hot, people // _PER_HOT * _PER_HOT, _active_people(people, random))
    initial = _prices(random, count)
    # Twice the time in which as many auctions begin as are active, on average half of it.
    longest_ms = 2 * _ACTIVE_AUCTIONS * _CYCLE // _AUCTIONS * 1000 // RATE
    length_us = random.integers(1, longest_ms + 1, count) * 1000
    return pl.DataFrame(
        {
            "id": people * _AUCTIONS + number % _CYCLE - 1 + _FIRST_ID,
            "itemName": _words(random, count, 20),
            "description": _words(random, count, 100),
            "initialBid": initial,
            "reserve": initial + _prices(random, count),
            "dateTime": _moments(_time_us(number)),
            "expires": _moments(_time_us(number) + length_us),
            "seller": seller + _FIRST_ID,
            "category": random.integers(10, 15, count),
            "extra": _words(random, count, 340),
            "_arrival": number,
        }
    )


def _bids(number: np.ndarray, random: np.random.Generator) -> pl.DataFrame:
    count = len(number)
    people = number // _CYCLE
    newest = people * _AUCTIONS + _AUCTIONS - 1
    oldest = np.maximum(newest - _ACTIVE_AUCTIONS, 0)
    auction = np.where(
        random.random(count) < 0.5,
        newest // _PER_HOT * _PER_HOT,
        random.integers(oldest, newest + _AHEAD + 1),
    )
    # The second of a hundred, so that hot bidders are no hot sellers.
    hot = random.random(count) < 0.75
    bidder = np.where(hot, people // _PER_HOT * _PER_HOT + 1, _active_people(people, random))
    channels, urls = _channels(random)
    channel = np.where(
        random.random(count) < 0.5,
        random.integers(0, len(_HOT_CHANNELS), count),
        random.integers(len(_HOT_CHANNELS), len(channels), count),
    )
    return pl.DataFrame(
        {
            "auction": auction + _FIRST_ID,
            "bidder": bidder + _FIRST_ID,
            "price": _prices(random, count),
            "channel": channels.gather(channel),
            "url": urls.gather(channel),
            "dateTime": _moments(_time_us(number)),
            "extra": _words(random, count, 68),
            "_arrival": number,
        }
    )


def _side_input() -> pl.DataFrame:
    """What is known before the first event."""
    key = np.arange(SIDE_KEYS, dtype=np.int64)
    before = _time_us(np.zeros(SIDE_KEYS, dtype=np.int64))
    value = "value " + pl.Series(key).cast(pl.String)
    return pl.DataFrame({"key": key, "value": value, "at": _moments(before), "_arrival": key})


def _channels(random: np.random.Generator) -> tuple[pl.Series, pl.Series]:
    """The names of all channels, the hot ones first, and their URLs; a tenth of the others tell no id."""
    count = len(_HOT_CHANNELS) + _CHANNELS
    own = pl.Series(random.integers(0, 2**31, count)).cast(pl.String)
    told = (np.arange(count) >= len(_HOT_CHANNELS)) & (random.random(count) < 0.9)
    folders = [_words(random, count, 5) + "/" for _ in range(3)]
    urls = "https://auctions.example/" + folders[0] + folders[1] + folders[2] + "item.htm?query=1"
    ids = pl.select(pl.when(pl.Series(told)).then("&channel_id=" + own).otherwise(pl.lit(""))).to_series()
    names = [*_HOT_CHANNELS, *(f"channel-{number}" for number in range(_CHANNELS))]
    return pl.Series(names), urls + ids


def _active_people(people: np.ndarray, random: np.random.Generator) -> np.ndarray:
    active = np.minimum(people + 1, _ACTIVE_PEOPLE)
    return people + 1 - active + random.integers(0, active + _AHEAD)


def _prices(random: np.random.Generator, count: int) -> np.ndarray:
    """Cents whose orders of magnitude are alike likely."""
    return np.rint(100 * 10.0 ** (6 * random.random(count))).astype(np.int64)


def _time_us(number: np.ndarray) -> np.ndarray:
    return int(START.timestamp()) * 1_000_000 + number * (1_000_000 // RATE)


def _moments(microseconds: np.ndarray) -> pl.Series:
    return pl.Series(microseconds).cast(pl.Datetime("us", "UTC"))


def _one_of(words: tuple[str, ...], random: np.random.Generator, count: int) -> pl.Series:
    return pl.Series(words).gather(random.integers(0, len(words), count))


def _words(random: np.random.Generator, count: int, length: int) -> pl.Series:
    letters = random.integers(ord("a"), ord("z") + 1, count * length, dtype=np.uint8)
    buffers = [None, pa.py_buffer(letters)]
    fixed = pa.FixedSizeBinaryArray.from_buffers(pa.binary(length), count, buffers)
    return pl.Series(fixed.cast(pa.binary()).cast(pa.string()))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.nexmark.events")
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--events", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    write(given.folder, generate(given.events, given.seed))


if __name__ == "__main__":
    main()
