"""Settings changed by text."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from sklearn_hashnlp.experiments._settings import change_settings


@dataclass(frozen=True)
class Some:
    size: int = 3
    rate: float = 0.5
    kind: str = "plain"
    names: tuple[str, ...] = ("a", "b")


def test_each_value_is_of_its_own_type() -> None:
    changed = change_settings(Some(), ["size=12", "rate=1e-3", "kind=a=b", "names=x"])
    assert changed == Some(12, 0.001, "a=b", ("x",))
    assert change_settings(Some(), ["rate=2", "names=b,a"]) == Some(rate=2.0, names=("b", "a"))
    assert change_settings(Some(), []) == Some()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("size", "must be given as NAME=VALUE, got 'size'"),
        ("sice=3", "no setting 'sice'; there are: size, rate, kind, names"),
        ("size=3.5", "'size' must be a whole number, got '3.5'"),
        ("rate=fast", "'rate' must be a number, got 'fast'"),
    ],
)
def test_what_will_not_do_is_named(change: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        change_settings(Some(), [change])
