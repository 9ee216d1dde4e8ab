"""Trees of any shape."""

from typing import Any

from hypothesis import strategies as st


@st.composite
def nested_trees(draw: st.DrawFn, max_classes: int = 30, max_arity: int = 5) -> Any:
    """Nested lists over the classes 0..V-1 in any order, every list of 2..max_arity."""
    n_classes = draw(st.integers(1, max_classes))
    row: list[Any] = draw(st.permutations(range(n_classes)))
    while len(row) > 1:
        arity = draw(st.integers(2, min(max_arity, len(row))))
        start = draw(st.integers(0, len(row) - arity))
        row = [*row[:start], row[start : start + arity], *row[start + arity :]]
    return row[0]


COUNTS = st.lists(st.integers(0, 20), min_size=1, max_size=30)
"""Class counts with zeros and ties."""
