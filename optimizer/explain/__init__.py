"""Why a plan is what it is: as a typed document, as text, and for one more query."""

from __future__ import annotations

from optimizer.explain.document import Explanation
from optimizer.explain.drawing import Drawing, draw, to_json
from optimizer.explain.from_plan import explain
from optimizer.explain.marginal import MarginalCost, marginal_cost
from optimizer.explain.text import to_text

__all__ = ["Drawing", "Explanation", "MarginalCost", "draw", "explain", "marginal_cost", "to_json", "to_text"]
