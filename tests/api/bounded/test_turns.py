"""Places among accounts: nobody holds all, those who wait take turns, and too much is refused."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable

import pytest

from backend.bounded.caller import Caller
from backend.bounded.turns import Gone, Turns
from backend.errors import Busy, TooManyAtOnce


def turns(places: int = 2, per_account: int = 3, waiting: int = 20, patience_s: float = 20.0) -> Turns:
    return Turns(places, per_account, waiting, patience_s)


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


class Holder:
    """A thread that takes a place, and keeps it until it is told to leave."""

    def __init__(self, places: Turns, account: int, order: list[int]) -> None:
        self.caller = Caller(account)
        self._leave = threading.Event()
        self.inside = threading.Event()
        self.refused: Exception | None = None
        self._order = order
        # A test that fails leaves it waiting.
        self._thread = threading.Thread(target=self._hold, args=(places,), daemon=True)
        self._thread.start()

    def _hold(self, places: Turns) -> None:
        try:
            with places.place(self.caller):
                assert self.caller.account is not None
                self._order.append(self.caller.account)
                self.inside.set()
                self._leave.wait(20)
        except (Gone, Busy, TooManyAtOnce) as error:
            self.refused = error

    def leave(self) -> None:
        self._leave.set()
        self._thread.join(20)

    def is_refused(self) -> Exception | None:
        self._thread.join(20)
        return self.refused


def test_one_account_never_holds_all_places() -> None:
    places, order = turns(), []
    greedy = [Holder(places, 1, order) for _ in range(3)]
    until(lambda: places.in_use == (1, 2))
    other = Holder(places, 2, order)
    assert other.inside.wait(20)
    assert places.in_use == (2, 2)
    for one in (other, *greedy):
        one._leave.set()
    for one in (other, *greedy):
        one.leave()
    assert order == [1, 2, 1, 1]
    assert places.in_use == (0, 0)


def test_the_only_place_is_everybodys() -> None:
    places, order = turns(places=1), []
    with places.place(Caller(1)):
        assert places.in_use == (1, 0)
    assert order == []


def test_who_used_least_is_next_and_then_who_came_first() -> None:
    places, order = turns(places=1, per_account=5), []
    first = Holder(places, 1, order)
    assert first.inside.wait(20)
    waiting = []
    for account in (1, 1, 1, 2, 2, 3):
        waiting.append(Holder(places, account, order))
        until(lambda: places.in_use[1] == len(waiting))
    time.sleep(0.3)
    for one in (first, *waiting):
        one._leave.set()
    for one in waiting:
        one.leave()
    # Account 1 came first with three, but had the place already.
    assert order[:3] == [1, 2, 3]
    assert sorted(order) == [1, 1, 1, 1, 2, 2, 3]


def test_ten_that_ask_all_the_time_do_not_keep_one_waiting() -> None:
    """The innocent's turn comes after what is being worked at, not after everybody's."""
    places = turns(places=2, per_account=4, waiting=64)
    stop, served = threading.Event(), itertools.count()

    def ask(account: int) -> None:
        while not stop.is_set():
            with places.place(Caller(account)):
                next(served)
                time.sleep(0.05)

    threads = [threading.Thread(target=ask, args=(n % 10,)) for n in range(30)]
    for thread in threads:
        thread.start()
    until(lambda: places.in_use[1] > 20)
    # Everybody has had turns by then.
    until(lambda: next(served) > 60)
    before_me = []
    for _ in range(10):
        began = next(served)
        with places.place(Caller(99)):
            before_me.append(next(served) - began - 1)
        time.sleep(0.05)
    stop.set()
    for thread in threads:
        thread.join(20)
    assert sorted(before_me)[len(before_me) // 2] <= 4, before_me
    assert places.in_use == (0, 0)


def test_too_much_of_one_account_is_refused_and_of_others_is_not() -> None:
    places, order = turns(per_account=2), []
    own = [Holder(places, 1, order) for _ in range(2)]
    until(lambda: sum(places.in_use) == 2)
    with pytest.raises(TooManyAtOnce) as refused, places.place(Caller(1)):
        pass
    assert (refused.value.status, refused.value.code) == (429, "too-many-at-once")
    with places.place(Caller(2)):
        assert places.in_use[0] == 2
    for one in own:
        one._leave.set()
    for one in own:
        one.leave()


def test_a_queue_that_is_full_or_too_slow_says_so() -> None:
    full, order = turns(places=1, waiting=1), []
    held = Holder(full, 1, order)
    assert held.inside.wait(20)
    waits = Holder(full, 2, order)
    until(lambda: full.in_use == (1, 1))
    began = time.monotonic()
    with pytest.raises(Busy), full.place(Caller(3)):
        pass
    assert time.monotonic() - began < 10, "at once, and not after the patience of who waits"
    held.leave()
    waits.leave()
    slow = turns(places=1, patience_s=0.2)
    with slow.place(Caller(1)), pytest.raises(Busy), slow.place(Caller(2)):
        pass
    assert slow.in_use == (0, 0)


def test_who_leaves_while_waiting_is_in_nobodys_way() -> None:
    places, order = turns(places=1), []
    held = Holder(places, 1, order)
    assert held.inside.wait(20)
    leaving, staying = Holder(places, 2, order), Holder(places, 3, order)
    until(lambda: places.in_use == (1, 2))
    leaving.caller.gone.set()
    assert isinstance(leaving.is_refused(), Gone)
    held.leave()
    assert staying.inside.wait(20)
    staying.leave()
    assert order == [1, 3]


def test_who_has_gone_counts_no_longer_though_it_still_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    # Those who wait look whether their client is there so rarely that none does within the test.
    monkeypatch.setattr("backend.bounded.turns._LOOK_SECONDS", 20.0)
    places, order = turns(places=1, per_account=2), []
    working, waiting = Holder(places, 1, order), Holder(places, 1, order)
    until(lambda: places.in_use == (1, 1))
    assert isinstance(Holder(places, 1, order).is_refused(), TooManyAtOnce)
    waiting.caller.gone.set()
    newer = Holder(places, 1, order)
    until(lambda: places.in_use == (1, 2))
    working.leave()
    until(newer.inside.is_set)
    newer.leave()
    assert isinstance(waiting.is_refused(), Gone)


def test_a_place_is_contested_by_accounts_that_have_used_less() -> None:
    places, order = turns(places=1, per_account=5), []
    greedy = [Holder(places, 1, order) for _ in range(3)]
    until(lambda: places.in_use == (1, 2))
    # An account does not contest what it holds itself.
    assert not places.is_contested(Caller(1), 1.0)
    other = Holder(places, 2, order)
    until(lambda: places.in_use == (1, 3))
    assert places.is_contested(Caller(1), 1.0)
    # Nor does one that has used as much.
    assert not places.is_contested(Caller(3), 0.0)
    other.caller.gone.set()
    assert not places.is_contested(Caller(1), 1.0)
    for one in (*greedy, other):
        one.leave()
