"""The page of benchmarks, from the JSON files in ``benchmarks/results``: ratios first, and what others do better."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.common.data import TITLES

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"

Keys = tuple[str, ...]


@dataclass(frozen=True)
class Comparison:
    """A figure of this package beside that of another program."""

    what: str
    peer: str
    file: str
    ours: Keys  # keys that lead to the figure in the JSON
    theirs: Keys
    unit: str
    more_is_better: bool = False
    ratio: Keys = ()  # where the benchmark stored one, the median of its rounds


@dataclass(frozen=True)
class Row:
    """A comparison with its figures: ``lead`` is above 1 for a ratio, or above 0 for points, where ours is better."""

    what: str
    peer: str
    lead: float
    ours: str
    theirs: str
    is_ratio: bool

    @property
    def is_loss(self) -> bool:
        """True if the other program is better."""
        return self.lead < (1 if self.is_ratio else 0)


_AG = "36,476 texts of AG News"
_WIKIPEDIA = "3.9 million words of Wikipedia"
_CLASSIFIER = "TextClassifier"

SPEED = (
    *(
        Comparison(
            f"counting n-grams, {case}, one thread",
            "`HashingVectorizer`",
            "vectorizers",
            ("cases", case, "ours s"),
            ("cases", case, "scikit-learn s"),
            "s",
            ratio=("cases", case, "ratio"),
        )
        for case in ("words 1-2", "characters 1-4", "char_wb 3-5")
    ),
    *(
        Comparison(
            "training a text classifier",
            peer,
            "classifiers",
            ("speed", "models", _CLASSIFIER, "seconds"),
            ("speed", "models", key, "seconds"),
            "s",
            ratio=("speed", "models", key, "times ours"),
        )
        for peer, key in (
            ("fastText, 3 epochs", "fastText"),
            ("fastText, 5 epochs", "fastText, 5 epochs as published"),
            ("fastText, 2,000,000 buckets", "fastText, bucket 2,000,000"),
        )
    ),
    Comparison(
        "prediction, 7,600 texts in one call",
        "fastText",
        "classifiers",
        ("prediction", "texts/s", _CLASSIFIER, "median"),
        ("prediction", "texts/s", "fastText", "median"),
        "texts/s",
        more_is_better=True,
        ratio=("prediction", "times fastText"),
    ),
    *(
        Comparison(
            "prediction, one text per call, one thread",
            peer,
            "serving",
            ("models", "process", "single texts/s"),
            ("models", key, "single texts/s"),
            "texts/s",
            more_is_better=True,
        )
        for peer, key in (("TF-IDF and `LinearSVC`", "svm"), ("fastText", "fasttext"))
    ),
    *(
        Comparison(
            "start of Python and first prediction, exported",
            peer,
            "serving",
            ("models", "exported", "start s"),
            ("models", key, "start s"),
            "s",
        )
        for peer, key in (("TF-IDF and `LinearSVC`", "svm"), ("fastText", "fasttext"))
    ),
    *(
        Comparison(
            f"projections of {rows} to 1,120 bits",
            "80 `SparseRandomProjection`",
            "sgnn_projection",
            ("cases", rows, "seconds", "ours", "median"),
            ("cases", rows, "seconds", "80 projections, fitted vocabulary", "median"),
            "s",
            ratio=("cases", rows, "times as long", "ours", "80 projections, fitted vocabulary"),
        )
        for rows in ("8,000 words", "2,000 documents")
    ),
    Comparison(
        "a vocabulary of 1- to 9-grams, 2,500 texts of IMDB",
        "`CountVectorizer`",
        "ngram_dictionary",
        ("sets", "imdb", "ours, some rows", "fit s"),
        ("sets", "imdb", "CountVectorizer, some rows", "fit s"),
        "s",
    ),
    *(
        Comparison(
            "an epoch of a language model, Penn Treebank, Huffman tree",
            peer,
            "hsoftmax",
            ("epoch", "seconds", "huffman", "median"),
            ("epoch", "seconds", key, "median"),
            "s",
            ratio=("epoch", "times as long", "huffman", key),
        )
        for peer, key in (("full softmax of torch", "softmax"), ("adaptive softmax of torch", "adaptive"))
    ),
)

MEMORY = (
    Comparison(
        "training a text classifier",
        "fastText, 10,000,000 buckets",
        "classifiers",
        ("memory", "models", _CLASSIFIER, "growth MiB"),
        ("memory", "models", "fastText", "growth MiB"),
        "MiB",
    ),
    Comparison(
        "training a text classifier",
        "fastText, 2,000,000 buckets",
        "classifiers",
        ("memory", "models", _CLASSIFIER, "growth MiB"),
        ("memory", "models", "fastText, bucket 2,000,000", "growth MiB"),
        "MiB",
    ),
    *(
        Comparison(
            what,
            peer,
            "serving",
            ("models", ours, key),
            ("models", theirs, key),
            unit,
        )
        for what, ours, key, unit in (
            ("a process that predicts, exported", "exported", "memory MiB", "MiB"),
            ("a process that predicts, whole package", "process", "memory MiB", "MiB"),
            ("file size, exported", "exported", "MB", "MB"),
        )
        for peer, theirs in (("TF-IDF and `LinearSVC`", "svm"), ("fastText", "fasttext"))
    ),
    Comparison(
        "a vocabulary of 1- to 9-grams, 2,500 texts of IMDB",
        "`CountVectorizer`",
        "ngram_dictionary",
        ("sets", "imdb", "ours, some rows", "fit growth MiB"),
        ("sets", "imdb", "CountVectorizer, some rows", "fit growth MiB"),
        "MiB",
    ),
)

_WORD_VECTOR_TASKS = {
    "analogies": "analogies answered",
    "nearest of the same group": "words whose nearest is of the same group",
    "average precision": "average precision of groups",
    "sentences": "correlation with similarities of sentences",
}


def page() -> str:
    """Return the page in Markdown."""
    results = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(RESULTS.glob("*.json"))}
    sections = [
        ("Speed", _SPEED_TEXT, _rows(SPEED, results)),
        ("Memory and size", _MEMORY_TEXT, _rows(MEMORY, results)),
        ("Accuracy against a tuned linear model", _LINEAR_TEXT, list(_against_linear(results))),
        ("Accuracy against fastText", _FASTTEXT_TEXT, list(_against_fasttext(results))),
        ("Word vectors against gensim", _WORD_VECTORS_TEXT, list(_against_gensim(results))),
    ]
    losses = [row for _, _, rows in sections for row in rows if row.is_loss]
    machine, versions = _environment(results)
    parts = [_HEAD.format(machine=machine, versions=versions, n_losses=len(losses))]
    parts += [f"## {heading}\n\n{text}\n\n{_table(rows)}" for heading, text, rows in sections]
    parts.append(f"## Where others are better\n\n{_LOSS_TEXT}\n\n{_table(losses)}")
    parts.append(f"## Sources\n\n{_SOURCE_TEXT}\n\n{_sources(results)}")
    return "\n\n".join(parts) + "\n"


_HEAD = """\
# Benchmarks

Figures of this package beside those of other programs, measured by the scripts in `benchmarks/`; this page is made
from the JSON files that they wrote. This package is better where the first column is above 1 in times, or above 0 in
percentage points. The other is better in {n_losses} rows, which stand once more in
[a table of their own](#where-others-are-better).

**Machine:** {machine}. Seconds vary with what else runs on it; ratios, of both programs in one run, vary less.
**Versions:** {versions}."""
_SPEED_TEXT = (
    "How many times as long the other takes, or how many times as many texts ours labels in a second; with "
    f"{_AG} where nothing else is said. fastText has 10,000,000 buckets, as published, or 2,000,000; its learning rate "
    "and number of epochs were chosen on validation rows, but for the row with 5 epochs, as published."
)
_MEMORY_TEXT = f"How many times as much the other needs. Training: the growth of memory, with {_AG}."
_LINEAR_TEXT = (
    "Test accuracy in percent of `TextClassifier` with its defaults, mean of five seeds, beside TF-IDF of words and of "
    "characters with `LinearSVC`, whose case, damping and C are chosen by cross-validation on the same training rows: "
    "all of them, or samples of 250 to 4,000. [More](../classifier.md#against-a-tuned-linear-model)."
)
_FASTTEXT_TEXT = (
    "Test accuracy in percent, mean of five seeds. Both are tuned on training or validation rows; where ours was not, "
    "it has the n-grams of words and characters and its defaults."
)
_WORD_VECTORS_TEXT = (
    f"Percent, for vectors trained on {_WIKIPEDIA}; this package's are of the language model, `HsigmoidLanguageModel`, "
    "embeddings and context vectors side by side. [More](../coming_from_gensim.md#which-vectors-are-better)."
)
_LOSS_TEXT = "Every row above in which the other program is faster, smaller or more accurate."
_SOURCE_TEXT = (
    "Each file has its machine, versions and runs. *Changed since*: what the package does otherwise today; without it, "
    "today's code is expected to repeat the figures."
)


def _environment(results: dict[str, Any]) -> tuple[str, str]:
    """Return the machines and the versions of all results; usually each is one."""
    machines = {f"{m['processor']}, {m['cores']} cores, {m['system']}" for m in _find(results, "machine")}
    versions: dict[str, set[str]] = {}
    for found in _find(results, "versions"):
        for name, version in found.items():
            versions.setdefault(name, set()).add(version)
    listed = (f"{name} {' and '.join(sorted(found))}" for name, found in versions.items() if name != "sklearn-hashnlp")
    return "; ".join(sorted(machines)), ", ".join(listed)


def _find(result: Any, key: str) -> Iterator[Any]:
    """Find all values of a key, at any depth."""
    if isinstance(result, dict):
        if key in result:
            yield result[key]
        for value in result.values():
            yield from _find(value, key)
    elif isinstance(result, list):
        for value in result:
            yield from _find(value, key)


def _get(result: Any, path: Keys) -> float:
    for key in path:
        result = result[key]
    return float(result)


def _rows(comparisons: Sequence[Comparison], results: dict[str, Any]) -> list[Row]:
    rows = []
    for one in comparisons:
        result = results[one.file]
        ours, theirs = _get(result, one.ours), _get(result, one.theirs)
        ratio = _get(result, one.ratio) if one.ratio else ours / theirs if one.more_is_better else theirs / ours
        texts = [f"{_digits(value, 3)}&nbsp;{one.unit}" for value in (ours, theirs)]
        rows.append(Row(one.what, one.peer, ratio, *texts, is_ratio=True))
    return rows


def _against_linear(results: dict[str, Any]) -> Iterator[Row]:
    result = results["small_sets"]
    for name, label in TITLES.items():
        for size, values in sorted(result["sets"].get(name, {}).items(), key=lambda pair: int(pair[0])):
            what = f"{label}, {'all texts' if size == '0' else f'{int(size):,} texts'}"
            lead, texts = values["lead"], [f"{values[key]:.2f}" for key in ("ours", "linear")]
            yield Row(what, "tuned `LinearSVC`", lead, *texts, is_ratio=False)


def _against_fasttext(results: dict[str, Any]) -> Iterator[Row]:
    result = results["classifiers"]["accuracy"]
    for name, label in TITLES.items():
        models = result["sets"][name]
        if "fasttext" in models:
            best = models.get("tuned", models["words+characters"])["accuracy"]
            theirs = models["fasttext"]["accuracy"]
            texts = [f"{value:.2f}" for value in (best, theirs)]
            yield Row(label, "fastText, tuned", best - theirs, *texts, is_ratio=False)


def _against_gensim(results: dict[str, Any]) -> Iterator[Row]:
    result = results["word_vectors"]
    ours, theirs = (result["models"][name] for name in ("ours, words before, both", "gensim, skip-gram"))
    for task, what in _WORD_VECTOR_TASKS.items():
        texts = [f"{model[task]:.1f}" for model in (ours, theirs)]
        yield Row(what, "gensim, skip-gram", ours[task] - theirs[task], *texts, is_ratio=False)


def _table(rows: Sequence[Row]) -> str:
    lines = ["| lead | what | compared with | ours | other |", "|---|---|---|---|---|"]
    for row in rows:
        lead = f"{_digits(row.lead, 2)}&nbsp;times" if row.is_ratio else f"{row.lead:+.2f}&nbsp;points"
        cells = [f"**{lead}**", row.what, row.peer, row.ours, row.theirs]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _sources(results: dict[str, Any]) -> str:
    lines = ["| file | measured | changed since |", "|---|---|---|"]
    for name, result in results.items():
        dates = sorted(set(_find(result, "date")))
        span = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
        lines.append(f"| `{name}.json` | {span} | {'; '.join(dict.fromkeys(_find(result, 'changed since')))} |")
    return "\n".join(lines)


def _digits(value: float, n: int) -> str:
    """Return a number with n significant digits, or all of those before the point."""
    if abs(value) < 1:
        return f"{value:.{n}g}"
    return f"{value:,.{max(0, n - len(str(int(abs(value)))))}f}"
