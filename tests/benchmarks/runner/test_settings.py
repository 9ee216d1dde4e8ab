"""Settings: parsed, formatted, compared and recorded."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from benchmarks.recipes.hash_embedding_settings import HashEmbeddingSettings
from benchmarks.runner.settings import (
    change_settings,
    format_changes,
    group_by_settings,
    settings_as_json,
)


@dataclass(frozen=True)
class Some:
    size: int = 3
    rate: float = 0.5
    kind: str = "plain"
    names: tuple[str, ...] = ("a", "b")
    sizes: tuple[int, ...] = ()
    fast: bool = False
    data: str = field(default="here", metadata={"recorded": False})


def test_values_are_parsed_as_their_types() -> None:
    changed = change_settings(Some(), ["size=12", "rate=1e-3", "kind=a=b", "names=x"])
    assert changed == Some(12, 0.001, "a=b", ("x",))
    assert change_settings(Some(), ["rate=2", "names=b,a"]) == Some(rate=2.0, names=("b", "a"))
    assert change_settings(Some(), ["sizes=3,20"]) == Some(sizes=(3, 20))
    assert change_settings(Some(sizes=(1,)), ["sizes="]) == Some()
    assert change_settings(Some(), []) == Some()
    for text, value in (("yes", True), ("True", True), ("no", False), ("false", False)):
        assert change_settings(Some(fast=not value), [f"fast={text}"]) == Some(fast=value)


def test_results_are_grouped_by_settings_and_named_by_what_differs() -> None:
    results = [
        {"settings": settings_as_json(settings), "seed": seed}
        for seed in (0, 1)
        for settings in (Some(), Some(size=4, names=("c",)))
    ]
    (what, first), (other, second) = group_by_settings(results)
    assert (what, other) == ("size=3, names=a,b", "size=4, names=c")
    assert [result["seed"] for result in first + second] == [0, 1, 0, 1]
    assert group_by_settings(first) == [("", first)]
    assert group_by_settings([]) == []
    old = {"settings": {"size": 3}, "seed": 0}  # of a version that had one setting
    assert [part for _, part in group_by_settings([old, results[0]])] == [[old], [results[0]]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("size", "must be given as NAME=VALUE, got 'size'"),
        ("sice=3", "no setting 'sice'; there are: size, rate, kind, names, sizes, fast, data"),
        ("kind=plain,size=3", "'kind=plain,size=3'; write: --set size=3."),
        ("size=3.5", "'size' must be an integer, got '3.5'"),
        ("rate=fast", "'rate' must be a number, got 'fast'"),
        ("fast=maybe", r"'fast' must be yes or no \(or true or false\), got 'maybe'"),
        ("sizes=1,b", "'sizes' must be integers separated by commas, got '1,b'"),
    ],
)
def test_invalid_changes_are_refused(change: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        change_settings(Some(), [change])


def test_formatted_changes_leave_out_folders_and_the_dataset() -> None:
    assert format_changes(settings_as_json(Some(data="there")), Some()) == ""
    changed = change_settings(Some(), ["fast=yes", "names=b", "sizes=1,2"])
    assert format_changes(settings_as_json(changed), Some()) == "names=b, sizes=1,2, fast=yes"
    assert format_changes({"dataset": "ag", "older": 3}, Some()) == "older=3"


def test_a_choice_is_one_of_its_type() -> None:
    settings = HashEmbeddingSettings()
    assert change_settings(settings, ["variant=paper"]).variant == "paper"
    with pytest.raises(
        ValueError, match="'variant' must be one of improved, paper, standard, got 'best'"
    ):
        change_settings(settings, ["variant=best"])
