"""When and why a running plan gives way to another one (dissertation section 7.2).

`learnt` says what statistics have been learnt by a moment, `weighing` whether another
plan repays the switch, `parallelism` how many tasks the load asks for, `variation` makes other
valid plans on purpose, for tests.
"""

from __future__ import annotations

from optimizer.adaptation.learnt import Learnt, LearntStatistics, learn
from optimizer.adaptation.moved import Moved, most_moved
from optimizer.adaptation.parallelism import Resized, loads, resize, tasks_by_stream, with_tasks
from optimizer.adaptation.variation import variation
from optimizer.adaptation.weighing import Weighed, weigh

__all__ = [
    "Learnt",
    "LearntStatistics",
    "Moved",
    "Resized",
    "Weighed",
    "learn",
    "loads",
    "most_moved",
    "resize",
    "tasks_by_stream",
    "variation",
    "weigh",
    "with_tasks",
]
