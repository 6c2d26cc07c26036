"""Who used the processors while something was measured."""

from __future__ import annotations

import time
from collections import Counter

import psutil

from tests.soak.product import Product


def processor_s(product: Product) -> Counter[str]:
    """Processor seconds of all that belongs to the product, by kind of process and niceness."""
    found: Counter[str] = Counter()
    for kind, process in product.processes():
        try:
            used = process.cpu_times()
            found[f"{kind}, nice {process.nice()}"] += used.user + used.system
        except psutil.NoSuchProcess:
            continue
    return found


class Processors:
    """From when it is made to when it is shown: processors in use, by kind of process.

    A process that ended in between is not seen; its work is among that of others.
    """

    def __init__(self, product: Product) -> None:
        self._product = product
        self._began, self._before, self._busy = time.monotonic(), processor_s(product), _busy_s()
        self._own = time.process_time()

    def __str__(self) -> str:
        seconds = time.monotonic() - self._began
        used = processor_s(self._product)
        used.subtract(self._before)
        used["this program"] = time.process_time() - self._own
        used["others"] = _busy_s() - self._busy - sum(used.values())
        lines = [
            f"{kind}: {each / seconds:.2f}" for kind, each in used.most_common() if each > 0.01 * seconds
        ]
        return f"of {psutil.cpu_count()}, {', '.join(lines)}"


def _busy_s() -> float:
    times = psutil.cpu_times()
    return float(times.user + times.nice + times.system)
