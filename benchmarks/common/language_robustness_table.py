"""The table of the benchmark of default language models, and the cells that miss a bound."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

OUTPUTS = ("tree", "tree, direct", "tree, hashed", "softmax", "softmax, direct", "adaptive")
_COUNTS = ("add-one unigram", "Kneser-Ney unigram", "Kneser-Ney bigram")
_NEAR_BIGRAM, _BELOW_BIGRAM = 3000, 10_000  # sentences from which on a bound holds
_TOLERANCE = 1.05


def markdown(result: dict[str, Any]) -> str:
    """Return the table: each network after one epoch and at the end."""
    header = ["text", "sentences", *_COUNTS, *OUTPUTS]
    lines = ["| " + " | ".join(header) + " |", "|---" * len(header) + "|"]
    for text, n_sentences, cell in _cells(result):
        networks = [
            f"{cell[output]['after one epoch']} → {cell[output]['at the end']}" if output in cell else ""
            for output in OUTPUTS
        ]
        counts = [str(cell["counts"][name]) for name in _COUNTS]
        lines.append("| " + " | ".join([text, f"{n_sentences:,}", *counts, *networks]) + " |")
    return "\n".join(lines)


def missed(result: dict[str, Any]) -> list[str]:
    """Return a line for every cell and bound that it misses."""
    lines = []
    for text, n_sentences, cell in _cells(result):
        counts = cell["counts"]
        bounds = {
            "after one epoch": ("add-one unigram", 1.0),
            "at the end": ("Kneser-Ney unigram", 1.0),
        }
        if n_sentences >= _NEAR_BIGRAM:
            bounds["at the end"] = ("Kneser-Ney bigram", 1.0 if n_sentences >= _BELOW_BIGRAM else _TOLERANCE)
        for output in OUTPUTS:
            for when, (name, factor) in bounds.items():
                if output in cell and not cell[output][when] <= counts[name] * factor:
                    bound = f"{counts[name]}" if factor == 1 else f"{factor} times {counts[name]}"
                    line = f"{text}, {n_sentences} sentences, {output}: {cell[output][when]} {when}"
                    lines.append(f"{line}, above {bound} of the {name}")
    return lines


def _cells(result: dict[str, Any]) -> Iterator[tuple[str, int, dict[str, Any]]]:
    for text, sizes in result["texts"].items():
        for size in sorted(map(int, sizes)):
            yield text, size, sizes[str(size)]
