"""The table of the benchmark of default language models, and the cells that miss a bound."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.common.results_file import FOLDER, read_result
from benchmarks.tables.sentence_tables import table

RESULT = FOLDER / "language_robustness.json"
PAGE = Path(__file__).parents[2] / "docs" / "language_model.md"
BLOCK = re.compile(r"(<!-- table: sizes -->\n).*?(<!-- end of table -->)", re.DOTALL)
OUTPUTS = ("tree", "tree, direct", "tree, hashed", "softmax", "softmax, direct", "adaptive")
_COUNTS = ("add-one unigram", "Kneser-Ney unigram", "Kneser-Ney bigram")
_NEAR_BIGRAM, _BELOW_BIGRAM = 3000, 10_000  # sentences from which on a bound holds
_TOLERANCE = 1.05


def markdown(result: dict[str, Any]) -> str:
    """Return the table: each network after one epoch and at the end."""
    return table(
        ("text", "sentences", *_COUNTS, *OUTPUTS),
        (
            (text, f"{n_sentences:,}", *(str(cell["counts"][name]) for name in _COUNTS), *map(_shown, _networks(cell)))
            for text, n_sentences, cell in _cells(result)
        ),
    )


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
                    line = f"{text}, {n_sentences:,} sentences, {output}: {cell[output][when]} {when}"
                    lines.append(f"{line}, above {bound} of the {name}")
    return lines


def fill(page: str, result: dict[str, Any]) -> str:
    """Replace the table on the page, and the list of the cells that miss a bound."""
    n_cells = sum(len(list(filter(None, _networks(cell)))) for *_, cell in _cells(result))
    lines = missed(result)
    summary = f"{n_cells} trainings; {len(lines) or 'no'} figures above their bound"
    listed = "".join(f"- {line}\n" for line in lines)
    folded = f"<details>\n<summary>The table</summary>\n\n{markdown(result)}\n\n</details>\n"
    text = f"{summary}{':' if lines else '.'}\n\n{listed}\n{folded}"
    return BLOCK.sub(lambda block: f"{block[1]}\n{text}\n{block[2]}", page)


def update_page() -> None:
    """Write the table into the page."""
    PAGE.write_text(fill(PAGE.read_text(encoding="utf-8"), read_result(RESULT)), encoding="utf-8")


def _networks(cell: dict[str, Any]) -> Iterator[dict[str, Any] | None]:
    return (cell.get(output) for output in OUTPUTS)


def _shown(network: dict[str, Any] | None) -> str:
    return "" if network is None else f"{network['after one epoch']} → {network['at the end']}"


def _cells(result: dict[str, Any]) -> Iterator[tuple[str, int, dict[str, Any]]]:
    for text, sizes in result["texts"].items():
        for size in sorted(map(int, sizes)):
            yield text, size, sizes[str(size)]
