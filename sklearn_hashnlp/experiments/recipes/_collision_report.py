"""Tables and a picture of the recipe ``collisions``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from sklearn_hashnlp.experiments._recipe import Result
from sklearn_hashnlp.experiments._settings import split_by_settings
from sklearn_hashnlp.experiments._table import Table
from sklearn_hashnlp.inspection._collision_statistics import Counted, Sizes, Summary, source_bound, summarize

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_LEVEL = 0.05

# What the source prints for its own example, beside what its formulas give.
_PRINTED = {("improved", 10**9, "10000000:1000000:2"): "0.01", ("paper", 10**9, "10000000:1000000:2"): "1"}

_TITLES = {
    "embedding": "Pairs of words that share their embedding (row of importance weights and components, in order)",
    "any order": "Pairs of words that share the row of importance weights and the components in any order",
    "components": "Pairs of words that share their components, in order",
    "column": "Pairs of words in one of 2,147,483,647 columns of the vectorizer",
}
_NOTES = {
    "any order": ["Their sums differ as soon as the weights of a word differ from each other: training sees to that."],
    "components": [
        "The paper's variance is more than a Poisson distribution's: rows that share components bring all their words "
        "together. Intervals and z are widened by it."
    ],
    "column": [
        "No hash embedding can tell such words apart, whatever its sizes; but with alternate_sign half of them have "
        "opposite signs."
    ],
}
_EXAMPLE_NOTES = (
    "The source's formulas: p = 1 - (1 - 1/out)^(V - 1) of each hash function; p_h p_u for the improved variant, which "
    "asks for a word with the same h and for a word, maybe another, with the same u; p_D1 + (1 - p_D1) p_D2 for the "
    "paper's, which also counts words whose components alone collide. Both are upper bounds.",
    "One column: of 2**31 - 1, as the vectorizer finds it by a hash of 31 bits. Words there share all that comes after "
    "it: where n B^k is more than 2**31 - 1, greater tables tell no more words apart.",
)


class _Row(NamedTuple):
    """What was counted for one hash embedding and number of words, over all seeds."""

    variant: str
    tables: str
    n_words: int
    n_trials: int
    summary: Summary


def report_collisions(results: Sequence[Result]) -> list[Table]:
    """Set counted pairs beside expected ones."""
    return [
        table._replace(title=f"{table.title} ({what})" if what else table.title)
        for what, found in split_by_settings(results)
        for table in _tables(found)
    ]


def plot_collisions(results: Sequence[Result], figure: Figure) -> None:
    """Draw counted pairs on the lines of expected ones, and shares of words with the source's bounds."""
    parts = split_by_settings(results)
    rows = _merge(parts[0][1], "embedding") if parts else []
    figure.set_layout_engine("constrained")
    if figure.get_size_inches()[0] < 15:
        figure.set_size_inches(15, 5)
    improved, paper, shares = figure.subplots(1, 3)
    improved.set_title("improved: q = 1/(n B^k)")
    for tables, found in _by_tables(rows, "improved").items():
        _draw_pairs(improved, _name(tables), found)
    paper.set_title("paper: q = 1/n")
    one_of_each_n = {Sizes.parse(tables).n_embeddings: found for tables, found in _by_tables(rows, "paper").items()}
    for n_embeddings, found in one_of_each_n.items():
        _draw_pairs(paper, f"n = {n_embeddings:,}", found)
    shares.set_title("words that share, and the source's bounds")
    for variant in ("improved", "paper"):
        for tables, found in list(_by_tables(rows, variant).items())[:1]:
            _draw_shares(shares, variant, tables, found)


def _draw_pairs(ax: Axes, name: str, rows: Sequence[_Row]) -> None:
    from sklearn_hashnlp.plotting import CollisionDisplay

    CollisionDisplay(
        [row.n_words for row in rows],
        [row.summary.expected_pairs for row in rows],
        [row.summary.mean_pairs for row in rows],
        [[row.summary.low_pairs, row.summary.high_pairs] for row in rows],
        name=name,
    ).plot(ax=ax)


def _draw_shares(ax: Axes, variant: str, tables: str, rows: Sequence[_Row]) -> None:
    from sklearn_hashnlp.plotting import CollisionDisplay

    CollisionDisplay(
        [row.n_words for row in rows],
        [row.summary.expected_sharing for row in rows],
        [row.summary.mean_sharing for row in rows],
        [[row.summary.low_sharing, row.summary.high_sharing] for row in rows],
        [source_bound(variant, row.n_words, Sizes.parse(tables)) for row in rows],
        name=f"{variant}, {_name(tables)}",
        quantity="share of words that share their embedding",
    ).plot(ax=ax)


def _by_tables(rows: Sequence[_Row], variant: str) -> dict[str, list[_Row]]:
    found: dict[str, list[_Row]] = {}
    for row in sorted(rows, key=lambda row: row.n_words):
        if row.variant == variant:
            found.setdefault(row.tables, []).append(row)
    return found


def _merge(results: Sequence[Result], what: str) -> list[_Row]:
    """Take the trials of all seeds together."""
    groups: dict[tuple[str, str, int], list[Result]] = {}
    for result in results:
        if what in result.get("shared", {}):
            key = (result.get("variant", ""), result.get("tables", ""), result["n_words"])
            groups.setdefault(key, []).append(result["shared"][what])
    rows = []
    for (variant, tables, n_words), found in groups.items():
        counted = Counted()
        for shared in found:
            counted = counted.plus(Counted(*(shared[name] for name in Counted._fields)))
        summary = summarize(
            counted, n_words=n_words, chance=found[0]["chance"], expected_dispersion=found[0]["expected_dispersion"]
        )
        rows.append(_Row(variant, tables, n_words, counted.n_trials, summary))
    return rows


def _tables(results: Sequence[Result]) -> list[Table]:
    tables = [_counted_table(what, rows) for what in _TITLES if (rows := _merge(results, what))]
    # Formulas have no seed: those of several runs are the same.
    examples = {(result["n_words"], result["tables"]): result for result in results if result["part"] == "formulas"}
    if examples:
        tables.append(_example_table(list(examples.values()), _merge(results, "embedding")))
    return tables


def _counted_table(what: str, rows: Sequence[_Row]) -> Table:
    from sklearn_hashnlp.experiments._statistics import holm_correction

    agreeing = [p_value >= _LEVEL for p_value in holm_correction([row.summary.p_value for row in rows])]
    embedded = what != "column"
    header = [
        "words",
        "trials",
        "expected",
        "counted",
        "95 % interval",
        "z",
        "agree",
        "variance/mean (expected)",
    ]
    cells = [
        [
            *((row.variant, row.tables) if embedded else ()),
            f"{row.n_words:,}",
            f"{row.n_trials:,}",
            _number(row.summary.expected_pairs),
            _number(row.summary.mean_pairs),
            f"{_number(row.summary.low_pairs)} to {_number(row.summary.high_pairs)}",
            f"{row.summary.z:+.2f}",
            "yes" if agrees else "NO",
            _dispersion(row.summary),
        ]
        for row, agrees in zip(rows, agreeing, strict=True)
    ]
    farthest = max((abs(row.summary.z) for row in rows), default=0.0)
    squares = sum(row.summary.z**2 for row in rows)
    if all(agreeing):
        verdict = f"Formula and counts agree in all {len(rows)} rows"
    else:
        verdict = f"Formula and counts DISAGREE in {agreeing.count(False)} of {len(rows)} rows"
    notes = [
        f"{verdict}, at the level of {_LEVEL:.0%} for all of them together (Holm); the greatest |z| is {farthest:.2f}, "
        f"the root of the mean of z squared {math.sqrt(squares / len(rows)):.2f} (1 is expected).",
        *_NOTES.get(what, []),
    ]
    return Table(_TITLES[what], [*(("variant", "n:B:k") if embedded else ()), *header], cells, notes)


def _example_table(examples: Sequence[Result], counted: Sequence[_Row]) -> Table:
    found = {(row.variant, row.n_words, row.tables): row.summary for row in counted}

    def given(label: str, key: str, name: str) -> list[str]:
        return [label, *(_number(example[key][name]) for example in examples)]

    rows = []
    for variant in ("improved", "paper"):
        keys = [(variant, example["n_words"], example["tables"]) for example in examples]
        summaries = [found.get(key) for key in keys]
        whole = f"{variant}, embedding"
        rows += [
            given(f"{variant}: q of a pair", "chances", whole),
            given(f"{variant}: colliding pairs, expected", "expected_pairs", whole),
            [f"{variant}: colliding pairs, counted", *(_number(one.mean_pairs) if one else "-" for one in summaries)],
            given(f"{variant}: share of words, 1 - (1 - q)^(V - 1)", "expected_sharing", whole),
            [f"{variant}: share of words, counted", *(_number(one.mean_sharing) if one else "-" for one in summaries)],
            given(f"{variant}: the source's formula, an upper bound", "source_bounds", variant),
            [f"{variant}: the source prints", *(_PRINTED.get(key, "-") for key in keys)],
        ]
    sooner = [example["chances"]["column"] > example["chances"]["improved, embedding"] for example in examples]
    rows += [
        given("paper: pairs that share components, expected", "expected_pairs", "paper, components"),
        given("one column: q of a pair", "chances", "column"),
        given("one column: pairs, expected", "expected_pairs", "column"),
        given("one column: share of words", "expected_sharing", "column"),
        given("improved: pairs in one column or one embedding", "expected_pairs", "improved, column or embedding"),
        given("paper: pairs in one column or one embedding", "expected_pairs", "paper, column or embedding"),
        ["improved: the column collides first", *("yes" if first else "no" for first in sooner)],
    ]
    header = ["", *(f"{example['n_words']:,} words, {_name(example['tables'])}" for example in examples)]
    return Table("Words that share their embedding, by formula", header, rows, _EXAMPLE_NOTES)


def _dispersion(summary: Summary) -> str:
    counted = "-" if summary.dispersion is None else f"{summary.dispersion:.3g}"
    return f"{counted} ({summary.expected_dispersion:.3g})"


def _number(value: float) -> str:
    if value == 0:
        return "0"
    if 999.95 <= abs(value) < 1e7:
        return f"{value:,.0f}"
    return f"{value:.4g}" if 0.1 <= abs(value) < 1000 else f"{value:.3g}"


def _name(tables: str) -> str:
    n, buckets, hashes = Sizes.parse(tables)
    return f"n = {n:,}, B = {buckets:,}, k = {hashes}"
