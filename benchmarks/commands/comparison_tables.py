"""The sections of the page of benchmarks, from all JSON files: ratios first, then the losses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.common.benchmark import FOLDER, read_result
from benchmarks.common.data import TITLES
from benchmarks.common.fasttext_peers import FASTTEXT, HEIRS

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
    plus: str = ""  # the figure under this key, in the place of the last key, is added to both


@dataclass(frozen=True)
class Row:
    """A comparison with figures; ours is better if ``lead`` is above 1 (ratio) or 0 (points)."""

    what: str
    peer: str
    lead: float
    ours: str
    theirs: str
    # Words for a ratio: where this package is better, and where the other is
    words: tuple[str, str] | None = None

    @property
    def is_loss(self) -> bool:
        """True if the other program is better, by more than times vary."""
        return self.lead < (1 / _EQUAL if self.words else 0)

    @property
    def said(self) -> str:
        """The lead as people say it, such as "25 times as fast"."""
        if self.words is None:
            return f"{self.lead:+.2f} points"
        ratio = 1 / self.lead if self.is_loss else self.lead
        if ratio < _EQUAL:
            return f"about {self.words[0]}"
        return f"{_digits(ratio, 2 if ratio > 1.1 else 3)} times {self.words[self.is_loss]}"


_EQUAL = 1.05  # a smaller ratio is within the variation of times
_AG = "36,476 texts of AG News"
_WIKIPEDIA = "3.9 million words of Wikipedia"
_CLASSIFIER = "TextClassifier"
_MANY, _ONE = "prediction, 7,600 texts in one call", "prediction, one text per call, one thread"
_START = "start of Python and first prediction"
_SERVERS = (
    ("TF-IDF and `LinearSVC`", "svm"),
    ("fastText", "fasttext"),
    *((heir, heir) for heir in HEIRS),
)
_SERVED = (  # of a model as users have it after fit, of one with characters, and of a file
    (_ONE, "fitted", "single ms", _SERVERS),
    (f"{_ONE}, words and characters", "characters", "single ms", _SERVERS),
    (f"{_ONE}, exported", "exported", "single ms", _SERVERS[:2]),
    (f"{_MANY}, words and characters", "characters", "many texts/s", _SERVERS),
    (f"{_MANY}, exported", "exported", "many texts/s", _SERVERS[:2]),
    (f"{_START}, exported", "exported", "start s", _SERVERS[:2]),
    (f"{_START}, whole package", "process", "start s", _SERVERS[:2]),
)

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
            *((heir, heir) for heir in HEIRS),
        )
    ),
    *(
        Comparison(
            _MANY,
            peer,
            "classifiers",
            ("prediction", "texts/s", _CLASSIFIER, "median"),
            ("prediction", "texts/s", peer, "median"),
            "texts/s",
            more_is_better=True,
            ratio=ratio,
        )
        for peer, ratio in (
            (FASTTEXT, ("prediction", "times fastText")),
            *((heir, ("prediction", "times", heir)) for heir in HEIRS),
        )
    ),
    *(
        Comparison(
            what,
            peer,
            "serving",
            ("models", ours, key),
            ("models", theirs, key),
            key.partition(" ")[2],
            more_is_better=key == "many texts/s",
        )
        for what, ours, key, peers in _SERVED
        for peer, theirs in peers
    ),
    Comparison(
        "training by `make_fasttext_classifier`, 79 languages",
        "fastText",
        "fasttext_bridge",
        ("written", "sets", "languages79", "ours s", "median"),
        ("written", "sets", "languages79", "fasttext s", "median"),
        "s",
        ratio=("written", "sets", "languages79", "ratio"),
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
        "a vocabulary of 1- to 9-grams, 2,500 texts of IMDB, and their matrix",
        "`CountVectorizer`",
        "ngram_dictionary",
        ("sets", "imdb", "ours, some rows", "fit s"),
        ("sets", "imdb", "CountVectorizer, some rows", "fit s"),  # of fit_transform
        "s",
        plus="transform s",
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
        for peer, key in (
            ("full softmax of torch", "softmax"),
            ("adaptive softmax of torch", "adaptive"),
        )
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
            "training a text classifier",
            f"{heir}, 10,000,000 buckets",
            "classifiers",
            ("memory", "models", _CLASSIFIER, "growth MiB"),
            ("memory", "models", heir, "growth MiB"),
            "MiB",
        )
        for heir in HEIRS
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


def tables() -> dict[str, str]:
    """Return the sections in Markdown, by the name of their block on the page."""
    results = {path.stem: read_result(path) for path in sorted(FOLDER.glob("*.json"))}
    sections = [
        ("Speed", _SPEED_TEXT, _rows(SPEED, results, ("as fast", "as slow"))),
        ("Memory and size", _MEMORY_TEXT, _rows(MEMORY, results, ("as small", "as large"))),
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
    return {"comparisons": "\n\n".join(parts)}


_HEAD = (
    "The first column compares this package with the other program, in times or in percentage "
    "points. The other is better in\n"
    "{n_losses} rows, which stand once more in [a table of their own](#where-others-are-better).\n"
    "\n"
    "**Machines:** {machine}; that of each file is [below](#sources). Seconds vary with what else "
    "runs on a machine; ratios, of both programs in one run, vary less.\n"
    "**Versions** in the files (numba was used by earlier code only): {versions}."
)
_SPEED_TEXT = (
    f"Seconds, or texts per second, with {_AG} where nothing else is said. fastText has 10,000,000 "
    "buckets, as published, or 2,000,000; its learning rate and number of epochs were chosen on "
    "validation rows, but for the row with 5 epochs, as published. Three packages read and write "
    "its files: fasttext-new, fasttext-turbo and fasttext-community; they train with its settings. "
    "One text is predicted by the model as it is after `fit`. Words and characters, as the default "
    "counts for fewer than 20,000 texts, and [exported models](serving.md#measurements) have rows "
    "of their own."
)
_MEMORY_TEXT = f"Training: the growth of memory, with {_AG}."
_LINEAR_TEXT = (
    "Test accuracy in percent of `TextClassifier` with its defaults, mean of five seeds, beside "
    "TF-IDF of words and of characters with `LinearSVC`, whose case, damping and C are chosen by "
    "cross-validation on the same training rows: all of them, or samples of 250 to 4,000. "
    "[More](model_selection.md#against-a-tuned-linear-model)."
)
_FASTTEXT_TEXT = (
    "Test accuracy in percent, mean of five seeds, all training texts: `TextClassifier` with its "
    "defaults; the hyper-parameters of fastText were chosen on training or validation rows."
)
_WORD_VECTORS_TEXT = (
    f"Percent, for vectors trained on {_WIKIPEDIA}; this package's are of the language model, "
    "`HsigmoidLanguageModel`, embeddings and context vectors side by side. "
    "[More](coming_from_gensim.md#which-vectors-are-better)."
)
_LOSS_TEXT = "Every row above in which the other program is faster, smaller or more accurate."
_SOURCE_TEXT = (
    "Each file has its machine, versions and runs. *Changed since*: what the package does "
    "otherwise today; without it, today's code is expected to repeat the figures."
)


def _environment(results: dict[str, Any]) -> tuple[str, str]:
    """Return the machines and the versions of all results; usually each is one."""
    versions: dict[str, set[str]] = {}
    for found in _find(results, "versions"):
        for name, version in found.items():
            versions.setdefault(name, set()).add(version)
    listed = (
        f"{name} {' and '.join(sorted(found))}"
        for name, found in versions.items()
        if name != "sklearn-hashnlp"
    )
    return _machines(results), ", ".join(listed)


def _machines(result: Any) -> str:
    """Return the machines of a result."""
    found = {
        f"{m['processor']}, {m['cores']} cores, {m['system']}" for m in _find(result, "machine")
    }
    return "; ".join(sorted(found))


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


def _has(result: Any, path: Keys) -> bool:
    for key in path:
        if key not in result:
            return False
        result = result[key]
    return True


def _rows(
    comparisons: Sequence[Comparison], results: dict[str, Any], words: tuple[str, str]
) -> list[Row]:
    rows = []
    for one in comparisons:
        result = results[one.file]
        if not _has(result, one.theirs):  # measured before this program was compared
            continue
        ours, theirs = (
            _get(result, path) + (_get(result, (*path[:-1], one.plus)) if one.plus else 0.0)
            for path in (one.ours, one.theirs)
        )
        ratio = (
            _get(result, one.ratio)
            if one.ratio
            else ours / theirs
            if one.more_is_better
            else theirs / ours
        )
        our_text, their_text = (f"{_digits(value, 3)}&nbsp;{one.unit}" for value in (ours, theirs))
        rows.append(Row(one.what, one.peer, ratio, our_text, their_text, words))
    return rows


def _against_linear(results: dict[str, Any]) -> Iterator[Row]:
    sets = results["small_sets"]["sets"]
    by_size: dict[int, list[Any]] = {}
    for name, label in TITLES.items():
        for size, values in sorted(sets.get(name, {}).items(), key=lambda pair: int(pair[0])):
            by_size.setdefault(int(size), []).append(values)
            yield _row_of_size(
                label, int(size), *(values[key] for key in ("lead", "ours", "linear"))
            )
    for size, found in sorted(by_size.items(), key=lambda pair: pair[0] or 10**9):
        means = (
            sum(values[key] for values in found) / len(found) for key in ("lead", "ours", "linear")
        )
        yield _row_of_size(f"mean of {len(found)} sets", size, *means)


def _row_of_size(label: str, size: int, lead: float, ours: float, linear: float) -> Row:
    texts = "all texts" if size == 0 else f"{size:,} texts"
    return Row(f"{label}, {texts}", "tuned `LinearSVC`", lead, f"{ours:.2f}", f"{linear:.2f}")


def _against_fasttext(results: dict[str, Any]) -> Iterator[Row]:
    ours, theirs = results["small_sets"]["sets"], results["classifiers"]["accuracy"]["sets"]
    pairs = {
        label: (ours[name]["0"]["ours"], theirs[name]["fasttext"]["accuracy"])
        for name, label in TITLES.items()
        if "0" in ours.get(name, {}) and "fasttext" in theirs.get(name, {})
    }
    mean = [sum(column) / len(pairs) for column in zip(*pairs.values(), strict=True)]
    for label, (one, other) in [*pairs.items(), (f"mean of the {len(pairs)}", mean)]:
        yield Row(label, "fastText, tuned", one - other, f"{one:.2f}", f"{other:.2f}")


def _against_gensim(results: dict[str, Any]) -> Iterator[Row]:
    result = results["word_vectors"]
    ours, theirs = (
        result["models"][name] for name in ("ours, words before, both", "gensim, skip-gram")
    )
    for task, what in _WORD_VECTOR_TASKS.items():
        our_text, their_text = (f"{model[task]:.1f}" for model in (ours, theirs))
        yield Row(what, "gensim, skip-gram", ours[task] - theirs[task], our_text, their_text)


def _table(rows: Sequence[Row]) -> str:
    lines = ["| lead | what | compared with | ours | other |", "|---|---|---|---|---|"]
    for row in rows:
        cells = [f"**{row.said.replace(' ', '&nbsp;')}**", row.what, row.peer, row.ours, row.theirs]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _sources(results: dict[str, Any]) -> str:
    lines = ["| file | measured | machine | changed since |", "|---|---|---|---|"]
    for name, result in results.items():
        dates = sorted(set(_find(result, "date")))
        span = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
        clauses = dict.fromkeys(
            clause for text in _find(result, "changed since") for clause in text.split("; ")
        )
        lines.append(f"| `{name}.json` | {span} | {_machines(result)} | {'; '.join(clauses)} |")
    return "\n".join(lines)


def _digits(value: float, n: int) -> str:
    """Return a number with n significant digits, or all of those before the point."""
    if abs(value) < 1:
        return f"{value:.{n}g}"
    return f"{value:,.{max(0, n - len(str(int(abs(value)))))}f}"
