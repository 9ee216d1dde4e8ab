"""What sides that are timed in turn have to say about each other."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any


def seconds_of_turns(found: Sequence[float]) -> dict[str, Any]:
    """Give the median of the turns and all of them."""
    return {"median": statistics.median(found), "all": list(found)}


def times_as_long(theirs: Sequence[float], ours: Sequence[float]) -> float:
    """Tell how many times as long the other side takes: the median of the ratios, each of one turn."""
    return statistics.median(their / our for their, our in zip(theirs, ours, strict=True))


def sides_of_turn(sides: Sequence[str], turn: int) -> list[str]:
    """Give the order in which the sides have a turn: forwards and backwards by turns, so that none is always first."""
    return list(sides) if turn % 2 else list(reversed(sides))
