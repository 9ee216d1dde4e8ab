"""A tree in letters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sklearn_hashnlp.trees._softmax_tree import SoftmaxTree


def draw_tree(tree: SoftmaxTree, names: Sequence[str] | None, max_lines: int | None) -> str:
    """Write a line for each inner node and class, children below their parent."""

    def name(child: int) -> str:
        if child >= 0:
            return f"node {child}"
        return f"class {~child}" if names is None else str(names[~child])

    lines: list[str] = []
    n_lines = tree.n_nodes + tree.n_classes
    limit = n_lines if max_lines is None else max_lines
    # What is still to be written, the next on top: the bars before it, its own corner, and the child.
    waiting = [("", "", 0 if tree.n_nodes else ~0)]
    while waiting and len(lines) < limit:
        bars, corner, child = waiting.pop()
        lines.append(f"{bars}{corner}{name(child)}")
        if child >= 0:
            bars += {"": "", "├── ": "│   ", "└── ": "    "}[corner]
            below = tree.children[tree.offsets[child] : tree.offsets[child + 1]].tolist()
            waiting.append((bars, "└── ", below[-1]))
            waiting.extend((bars, "├── ", other) for other in below[-2::-1])
    if len(lines) < n_lines:
        lines.append(f"... and {n_lines - len(lines):,} more lines")
    return "\n".join(lines)
