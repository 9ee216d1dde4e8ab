"""Types of parameters that several classifiers have."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

Calibrate: TypeAlias = Literal["auto", False]
ClassWeight: TypeAlias = dict[Any, float] | Literal["balanced"] | None
Monitor: TypeAlias = Literal["valid_acc", "valid_loss"]
