"""Tables as text and as Markdown."""

from __future__ import annotations

import pytest

from benchmarks.runner.table import Table, as_markdown, as_text

TABLE = Table(
    "Accuracy",
    ["data", "measured", "by reference", "of|what"],
    [["ag", "92.1 ± 0.2", "92.4 %", "9 texts"], ["imdb", "–", "", "words"], ["2 sets", "−1", "<0.1", ""]],
    ["Five seeds.", "One machine."],
)


def test_numbers_are_right_aligned_in_text() -> None:
    assert as_text(TABLE) == [
        "Accuracy",
        "  data      measured  by reference  of|what",
        "  ag      92.1 ± 0.2        92.4 %  9 texts",
        "  imdb             –                words",
        "  2 sets          −1          <0.1",
        "  Five seeds.",
        "  One machine.",
    ]


def test_numbers_are_right_aligned_in_markdown() -> None:
    assert as_markdown(TABLE) == [
        "### Accuracy",
        "",
        "| data | measured | by reference | of\\|what |",
        "|---|---:|---:|---|",
        "| ag | 92.1 ± 0.2 | 92.4 % | 9 texts |",
        "| imdb | – |  | words |",
        "| 2 sets | −1 | <0.1 |  |",
        "",
        "Five seeds.",
        "",
        "One machine.",
    ]


def test_a_table_without_rows() -> None:
    assert as_text(Table("Nothing", ["a", "bc"], [])) == ["Nothing", "  a  bc"]
    assert as_markdown(Table("Nothing", ["a", "bc"], []))[2:] == ["| a | bc |", "|---|---|"]


@pytest.mark.parametrize("write", [as_text, as_markdown])
def test_a_row_of_another_length_is_refused(write: object) -> None:
    with pytest.raises(ValueError, match=r"row of a table must have 2 cells, as its header has, got 1: \['x'\]"):
        write(Table("Short", ["a", "b"], [["x"]]))  # type: ignore[operator]
