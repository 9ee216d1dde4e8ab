"""Tables and plot of the recipe ``collisions``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from benchmarks.recipes.collisions.counts import TableSizes, expected_pairs, sharing_probability
from benchmarks.runner.recipe import Result
from benchmarks.runner.settings import group_by_settings
from benchmarks.runner.table import Table, tables_by_settings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_LEVEL = 0.05

# Printed by the reference for its example, where its formulas give other values.
_PRINTED = {
    ("improved", 10**9, "10000000:1000000:2"): "0.01",
    ("paper", 10**9, "10000000:1000000:2"): "1",
}

_TITLES = {
    "embedding": (
        "Colliding pairs of words: same embedding (importance row and components, in order)"
    ),
    "components": "Colliding pairs of words: same components, in order",
    "column": "Colliding pairs of words: same column out of 2,147,483,647 of the vectorizer",
}
_COLUMN_NOTE = (
    "No hash embedding can distinguish such words, whatever its sizes; with alternate_sign half "
    "of the pairs have opposite signs."
)
_EXAMPLE_NOTES = (
    "The reference's formulas: p = 1 - (1 - 1/out)^(V - 1) of each hash function; p_h p_u for "
    "the improved variant, the probability that some word has the same h and some word, maybe "
    "another, has the same u; p_D1 + (1 - p_D1) p_D2 for the paper's, which also counts words "
    "with the same components only. Both are upper bounds.",
    "Same column: one of 2,147,483,647, the index of a word in the vectorizer, a hash of 31 "
    "bits. Words in the same column share everything after it: beyond n B^k = 2,147,483,647, "
    "larger tables distinguish no more words.",
)


class _Mean(NamedTuple):
    """The mean of a count over trials."""

    value: float
    error: float  # standard error, at least that of a Poisson distribution

    @property
    def interval(self) -> list[float]:
        """The 95 % confidence interval."""
        return [max(self.value - 1.96 * self.error, 0.0), self.value + 1.96 * self.error]


class _Row(NamedTuple):
    """Counts of one hash embedding and number of words, over all seeds."""

    variant: str
    tables: str
    n_words: int
    n_trials: int
    chance: float
    pairs: _Mean
    share: _Mean  # of the words

    @property
    def expected(self) -> float:
        """The expected number of pairs."""
        return expected_pairs(self.n_words, self.chance)

    @property
    def z(self) -> float:
        """The difference of the counted and the expected pairs in standard errors."""
        expected_error = math.sqrt(self.expected / self.n_trials)
        return (self.pairs.value - self.expected) / max(self.pairs.error, expected_error)


def parse_sizes(text: str) -> TableSizes:
    """Parse ``"n:B:k"``."""
    try:
        sizes = TableSizes(*map(int, text.split(":")))
    except (TypeError, ValueError):
        sizes = TableSizes(0, 0, 0)
    if not (2 <= min(sizes[:2]) <= max(sizes[:2]) < 2**31 and 1 <= sizes.n_hashes <= 30):
        raise ValueError(
            "Sizes of tables must be given as n:B:k, such as 500:30:2, n and B from 2 to "
            f"2147483647 and k from 1 to 30, got {text!r}."
        )
    return sizes


def reference_bound(variant: str, n_words: int, sizes: TableSizes) -> float:
    """Return the reference's upper bound of the probability that a word collides with any other."""
    row, choice = (
        sharing_probability(n_words, 1 / sizes.n_embeddings),
        1 / sizes.n_buckets**sizes.n_hashes,
    )
    if variant == "improved":
        return row * sharing_probability(n_words, choice)
    return row + (1 - row) * sharing_probability(sizes.n_embeddings, choice)


def report_collisions(results: Sequence[Result]) -> list[Table]:
    """Make tables of counted and expected pairs."""
    return tables_by_settings(results, _tables)


def plot_collisions(results: Sequence[Result], figure: Figure) -> None:
    """Plot counted and expected pairs, and shares of colliding words with their upper bounds."""
    groups = group_by_settings(results)
    rows = _merge(groups[0][1], "embedding") if groups else []
    figure.set_layout_engine("constrained")
    if figure.get_size_inches()[0] < 15:
        figure.set_size_inches(12, 4.6)
    improved, paper, shares = figure.subplots(1, 3)
    improved.set_title("improved: q = 1/(n B^k)")
    for tables, group in _by_tables(rows, "improved").items():
        _draw_pairs(improved, _name(tables), group)
    paper.set_title("paper: q = 1/n")
    by_n_embeddings = {
        parse_sizes(tables).n_embeddings: group
        for tables, group in _by_tables(rows, "paper").items()
    }
    for n_embeddings, group in by_n_embeddings.items():
        _draw_pairs(paper, f"n = {n_embeddings:,}", group)
    shares.set_title("share of colliding words")
    for variant in ("improved", "paper"):
        for tables, group in list(_by_tables(rows, variant).items())[:1]:
            _draw_shares(shares, variant, tables, group)


def _draw_pairs(ax: Axes, name: str, rows: Sequence[_Row]) -> None:
    _draw(
        ax,
        name,
        "colliding pairs",
        rows,
        [row.expected for row in rows],
        [row.pairs for row in rows],
    )


def _draw_shares(ax: Axes, variant: str, tables: str, rows: Sequence[_Row]) -> None:
    expected = [sharing_probability(row.n_words, row.chance) for row in rows]
    name, quantity = f"{variant}, {_name(tables)}", "share of colliding words"
    _draw(ax, name, quantity, rows, expected, [row.share for row in rows])
    bounds = [reference_bound(variant, row.n_words, parse_sizes(tables)) for row in rows]
    ax.plot([row.n_words for row in rows], bounds, color=ax.lines[-1].get_color(), linestyle="--")
    ax.set_ylabel(f"{quantity}\n(line: expected, points: counted, dashed: upper bound)")


def _draw(
    ax: Axes,
    name: str,
    quantity: str,
    rows: Sequence[_Row],
    expected: Sequence[float],
    counted: Sequence[_Mean],
) -> None:
    n_words, means = [row.n_words for row in rows], np.array([mean.value for mean in counted])
    errors = np.abs(np.array([mean.interval for mean in counted]).T - means)
    ax.set_xscale("log")
    ax.set_yscale("log", nonpositive="clip")
    (line,) = ax.plot(n_words, expected, label=name)
    style: dict[str, Any] = {"fmt": "o", "markersize": 4, "capsize": 2, "color": line.get_color()}
    ax.errorbar(n_words, means, yerr=errors, **style)
    ax.set_xlabel("number of distinct words")
    ax.set_ylabel(f"{quantity}\n(line: expected, points: counted)")
    ax.grid(alpha=0.3)
    ax.legend(frameon=False, fontsize="small")


def _by_tables(rows: Sequence[_Row], variant: str) -> dict[str, list[_Row]]:
    groups: dict[str, list[_Row]] = {}
    for row in sorted(rows, key=lambda row: row.n_words):
        if row.variant == variant:
            groups.setdefault(row.tables, []).append(row)
    return groups


def _merge(results: Sequence[Result], kind: str) -> list[_Row]:
    """Add up the trials of all seeds."""
    groups: dict[tuple[str, str, int], list[Result]] = {}
    for result in results:
        if kind in result.get("shared", {}):
            key = (result.get("variant", ""), result.get("tables", ""), result["n_words"])
            groups.setdefault(key, []).append(result["shared"][kind])
    rows = []
    for (variant, tables, n_words), group in groups.items():
        n_trials = sum(counts["n_trials"] for counts in group)
        pairs, share = (_mean(group, name, n_trials) for name in ("pairs", "sharing_words"))
        share = _Mean(share.value / n_words, share.error / n_words)
        rows.append(_Row(variant, tables, n_words, n_trials, group[0]["chance"], pairs, share))
    return rows


def _mean(group: Sequence[Result], name: str, n_trials: int) -> _Mean:
    total, squares = (sum(counts[key] for counts in group) for key in (name, f"squared_{name}"))
    variance = (n_trials * squares - total**2) / (n_trials * (n_trials - 1))
    return _Mean(total / n_trials, math.sqrt(max(variance, total / n_trials) / n_trials))


def _tables(results: Sequence[Result]) -> list[Table]:
    tables = [_simulation_table(kind, rows) for kind in _TITLES if (rows := _merge(results, kind))]
    # Formulas do not depend on the seed.
    examples = {
        (result["n_words"], result["tables"]): result
        for result in results
        if result["part"] == "formulas"
    }
    if examples:
        tables.append(_formula_table(list(examples.values()), _merge(results, "embedding")))
    return tables


def _simulation_table(kind: str, rows: Sequence[_Row]) -> Table:
    from benchmarks.runner.statistics import holm_correction

    p_values = [math.erfc(abs(row.z) / math.sqrt(2)) for row in rows]
    consistent = [p_value >= _LEVEL for p_value in holm_correction(p_values)]
    embedded = kind != "column"
    header = ["words", "trials", "expected", "counted", "95 % CI", "z", "consistent"]
    cells = [
        [
            *((row.variant, row.tables) if embedded else ()),
            f"{row.n_words:,}",
            f"{row.n_trials:,}",
            _number(row.expected),
            _number(row.pairs.value),
            " to ".join(map(_number, row.pairs.interval)),
            f"{row.z:+.2f}",
            "yes" if is_consistent else "NO",
        ]
        for row, is_consistent in zip(rows, consistent, strict=True)
    ]
    max_abs_z = max((abs(row.z) for row in rows), default=0.0)
    sum_of_squares = sum(row.z**2 for row in rows)
    if all(consistent):
        verdict = f"Counts are consistent with the formula in all {len(rows)} rows"
    else:
        verdict = (
            f"Counts are NOT consistent with the formula in {consistent.count(False)} of "
            f"{len(rows)} rows"
        )
    notes = [
        f"{verdict}, at a family-wise significance level of {_LEVEL:.0%} (Holm). The largest |z| "
        f"is {max_abs_z:.2f}, the root mean square of z "
        f"{math.sqrt(sum_of_squares / len(rows)):.2f} (expected: 1).",
        *([] if embedded else [_COLUMN_NOTE]),
    ]
    return Table(
        _TITLES[kind], [*(("variant", "n:B:k") if embedded else ()), *header], cells, notes
    )


def _formula_table(examples: Sequence[Result], counted: Sequence[_Row]) -> Table:
    counted_rows = {(row.variant, row.n_words, row.tables): row for row in counted}

    def formula(label: str, key: str, name: str) -> list[str]:
        return [label, *(_number(example[key][name]) for example in examples)]

    rows = []
    for variant in ("improved", "paper"):
        keys = [(variant, example["n_words"], example["tables"]) for example in examples]
        matches = [counted_rows.get(key) for key in keys]
        whole = f"{variant}, embedding"
        rows += [
            formula(f"{variant}: q of a pair", "chances", whole),
            formula(f"{variant}: colliding pairs, expected", "expected_pairs", whole),
            [
                f"{variant}: colliding pairs, counted",
                *(_number(row.pairs.value) if row else "-" for row in matches),
            ],
            formula(
                f"{variant}: share of colliding words, 1 - (1 - q)^(V - 1)",
                "expected_sharing",
                whole,
            ),
            [
                f"{variant}: share of colliding words, counted",
                *(_number(row.share.value) if row else "-" for row in matches),
            ],
            formula(
                f"{variant}: upper bound by the reference's formula", "reference_bounds", variant
            ),
            [
                f"{variant}: upper bound printed by the reference",
                *(_PRINTED.get(key, "-") for key in keys),
            ],
        ]
    rows += [
        formula(
            "paper: pairs with the same components, expected", "expected_pairs", "paper, components"
        ),
        formula("same column: q of a pair", "chances", "column"),
        formula("same column: pairs, expected", "expected_pairs", "column"),
        formula("same column: share of colliding words", "expected_sharing", "column"),
    ]
    header = [
        "",
        *(f"{example['n_words']:,} words, {_name(example['tables'])}" for example in examples),
    ]
    return Table("Colliding words by formula", header, rows, _EXAMPLE_NOTES)


def _number(value: float) -> str:
    if value == 0:
        return "0"
    if 999.95 <= abs(value) < 1e7:
        return f"{value:,.0f}"
    return f"{value:.4g}" if 0.1 <= abs(value) < 1000 else f"{value:.3g}"


def _name(tables: str) -> str:
    n, buckets, hashes = parse_sizes(tables)
    return f"n = {n:,}, B = {buckets:,}, k = {hashes}"
