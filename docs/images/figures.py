"""Pictures of results: every number is read from a file of ``benchmarks/results``."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from drawing import BLUE, GRAY, GREEN, INK, ORANGE, Drawing

from benchmarks.commands.readme_tables import best_rivals
from benchmarks.common.data import ENGLISH_SETS, TITLES

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"


def read(name: str) -> Any:
    """Return the results of a benchmark."""
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def read_lines(name: str) -> list[dict[str, Any]]:
    """Return the results of an experiment."""
    return [
        json.loads(line)
        for line in (RESULTS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    ]


def dots(
    title: str,
    series: Mapping[str, str],
    rows: Sequence[tuple[str, Sequence[float | None]]],
    ticks: Sequence[float],
    *,
    note: str,
    left: float = 120,
) -> Drawing:
    """Draw rows of dots, each dot on a separate line, with its number at the right."""
    step = 15 * len(series) + 12
    columns = 62 * len(series)
    top = 40
    gap = 620 / len(series)
    d = Drawing(640, top + step * len(rows) + 46, title)
    right, bottom = 632.0 - columns, top + step * len(rows)

    def place(value: float) -> float:
        return left + (value - ticks[0]) / (ticks[-1] - ticks[0]) * (right - 14 - left)

    for tick in ticks:
        d.line(place(tick), top - 4, place(tick), bottom, width=0.6)
        d.text(place(tick), bottom + 12, f"{tick:g}", size=14, color=GRAY)
    for column, (name, color) in enumerate(series.items()):
        d.circle(20 + gap * column, 16, 5, color=color, shade=1)
        d.text(32 + gap * column, 16, name, size=15, color=color, anchor="start", bold=True)
        for row, (label, values) in enumerate(rows):
            y = top + step * (row + 0.5)
            value = values[column]
            is_mean = label.startswith("mean")
            if not column:
                d.text(left - 12, y, label, anchor="end", size=15, bold=is_mean)
                d.line(8, y - step / 2, 632, y - step / 2, width=1.4 if is_mean else 0.6)
            if value is not None:
                d.circle(
                    place(value), y + 15 * (column - (len(series) - 1) / 2), 5, color=color, shade=1
                )
                d.text(
                    right + 62 * column + 58,
                    y,
                    f"{value:.1f}",
                    size=15,
                    anchor="end",
                    color=color,
                    bold=is_mean,
                )
    d.text(320, bottom + 34, note, size=14, color=GRAY)
    return d


def bars(
    title: str, rows: Iterable[tuple[str, float, str, str]], *, note: str, left: float = 250
) -> Drawing:
    """Draw bars from zero with their numbers; a row is a label, a value, its text and a color."""
    rows = list(rows)
    d = Drawing(640, 20 + 30 * len(rows) + 34, title)
    longest = max(value for _, value, _, _ in rows)
    room = max(9 * len(text) for _, _, text, _ in rows) + 14
    for i, (label, value, text, color) in enumerate(rows):
        y, width = 14 + 30 * i, value / longest * (632 - left - room)
        d.text(left - 10, y + 11, label, anchor="end", size=15)
        d.bar(left, y, width, 22, color=color)
        d.text(left + width + 8, y + 11, text, anchor="start", size=15)
    d.line(left, 8, left, 14 + 30 * len(rows))
    d.text(320, 20 + 30 * len(rows) + 14, note, size=14, color=GRAY)
    return d


def accuracy() -> Drawing:
    """Draw the accuracy of each data set, and their mean where all three programs were measured."""
    small, fasttext = read("small_sets")["sets"], read("classifiers")["accuracy"]["sets"]
    rows: list[tuple[str, list[float | None]]] = []
    for name, label in TITLES.items():
        one = small[name]["0"]
        rows.append(
            (
                label,
                [one["ours"], one["linear"], fasttext[name].get("fasttext", {}).get("accuracy")],
            )
        )
    whole = [values for _, values in rows if None not in values]
    rows.append(
        (
            f"mean of {len(whole)}",
            [statistics.mean(filter(None, column)) for column in zip(*whole, strict=True)],
        )
    )
    return dots(
        "Test accuracy of TextClassifier, a tuned LinearSVC and, on six of eight sets, fastText",
        {"TextClassifier": BLUE, "tuned LinearSVC": ORANGE, "tuned fastText": GREEN},
        rows,
        [70, 80, 90, 100],
        note="test accuracy in %, all training rows; the mean is of the sets with all three",
    )


def sgnn_reproduction() -> Drawing:
    """Draw the accuracy of the networks and of linear models."""
    result = read("sgnn_accuracy")["accuracy"]
    return dots(
        "Test accuracy of SGNNClassifier and of a linear model on five data sets",
        {"SGNNClassifier": BLUE, "linear model": ORANGE},
        [
            (TITLES[name], [one["sgnn"]["accuracy"], one["linear"]["accuracy"]])
            for name, one in result.items()
        ],
        [70, 80, 90, 100],
        note="test accuracy in %",
    )


def coming_from_gensim() -> Drawing:
    """Draw the quality of the word vectors of both programs."""
    models, names = (
        read("word_vectors")["models"],
        ("ours, words before, both", "gensim, skip-gram"),
    )
    tasks = {
        "analogies": "analogies",
        "nearest of the same group": "nearest word in group",
        "average precision": "precision of groups",
        "sentences": "similar sentences",
    }
    return dots(
        "Word vectors of gensim and of HsigmoidLanguageModel in four tasks",
        {"HsigmoidLanguageModel": BLUE, "gensim, skip-gram": ORANGE},
        [(label, [models[name][task] for name in names]) for task, label in tasks.items()],
        [0, 20, 40, 60, 80],
        note="in %, higher is better; 3.9 million words of Wikipedia",
        left=180,
    )


def coming_from_fasttext() -> Drawing:
    """Draw how many times as fast fastText's models predict here."""
    models = read("fasttext_bridge")["models"]
    rows = [
        (name, one["ratio"], f"{one['ratio']:.1f}", BLUE)
        for name, one in models.items()
        if "ratio" in one
    ]
    ratios = [ratio for _, ratio, _, _ in rows]
    return bars(
        f"Models of fastText predict {min(ratios):.1f} to {max(ratios):.1f} times as fast here",
        [(_BRIDGE[name], *rest) for name, *rest in rows if name in _BRIDGE],
        note="how many times as fast this package predicts with a model that fastText trained",
        left=270,
    )


_BRIDGE = {
    "softmax": "softmax",
    "softmax, pairs": "with pairs of words",
    "softmax, subwords": "with subwords",
    "hs": "hierarchical softmax",
    "ova": "one-vs-all",
    "ns, pairs": "negative sampling, pairs",
    "softmax, quantized": "quantized",
    "softmax, pairs, subwords, pruned and quantized": "quantized, pairs, subwords",
    "softmax, 400 labels, output quantized": "quantized, 400 labels",
    "hs, 400 labels, output quantized": "hierarchical, 400 labels",
}


def coming_from_scikit_learn() -> Drawing:
    """Draw accuracy and time of the pipeline, also with this vectorizer, and of TextClassifier."""
    names = {
        "scikit-learn": "HashingVectorizer",
        "vectorizer": "HashingNgramVectorizer",
        "TextClassifier": "TextClassifier",
    }
    rows = []
    for data, one in read("sgd_pipeline")["sets"].items():
        for key, label in names.items():
            model = one["models"][key]
            seconds, percent = statistics.median(model["fit"]), statistics.mean(model["accuracy"])
            color = BLUE if key == "TextClassifier" else GREEN if key == "vectorizer" else ORANGE
            rows.append(
                (f"{TITLES[data]}: {label}", seconds, f"{seconds:.2f} s, {percent:.1f} %", color)
            )
    return bars(
        "Seconds of fit and test accuracy of two pipelines with SGDClassifier and of "
        "TextClassifier",
        rows,
        note="seconds of fit, and test accuracy; the two vectorizers with SGDClassifier",
        left=300,
    )


def mixture_perplexity() -> Drawing:
    """Draw the perplexities of single models and of mixtures on the Penn Treebank."""
    rows = sorted(read_lines("ptb-table"), key=lambda one: -one["test_perplexity"])
    return bars(
        "Perplexity on the Penn Treebank of three models and their mixtures",
        [
            (
                " + ".join(one["models"]),
                one["test_perplexity"],
                f"{one['test_perplexity']:.1f}",
                color,
            )
            for one in rows
            for color in [BLUE if len(one["models"]) > 1 else ORANGE]
        ],
        note="test perplexity, lower is better; blue: mixtures",
        left=270,
    )


def _panel(
    d: Drawing, box: tuple[float, float, float, float], ticks: Sequence[float], label: str
) -> Callable[[float], float]:
    """Draw the frame of a small plot with its ticks; return where a value is."""
    x, y, width, height = box
    d.text(x + width / 2, y - 14, label, size=15, bold=True)
    d.line(x, y, x, y + height)
    d.line(x, y + height, x + width, y + height)

    def place(value: float) -> float:
        return y + height - (value - ticks[0]) / (ticks[-1] - ticks[0]) * height

    for tick in ticks:
        d.line(x, place(tick), x + width, place(tick), width=0.5)
    return place


def readme() -> Drawing:
    """Draw how many times as fast other programs are outrun, and accuracy by training time."""
    d = Drawing(
        640,
        500,
        "Speed beside scikit-learn and fastText's successors, and test accuracy by training time",
    )
    classifiers = read("classifiers")
    rivals = best_rivals(classifiers, read("serving"))
    rows = [
        (f"n-grams, {name}", "scikit-learn", one["ratio"])
        for name, one in read("vectorizers")["cases"].items()
    ]
    tasks = ("training", "predicting many texts", "predicting one text")
    rows += [(task, *rival) for task, rival in zip(tasks, rivals.values(), strict=True)]
    logs = [math.log10(ratio) for _, _, ratio in rows]
    scale, zero = 165 / (max(logs) - min(0.0, *logs)), 310.0
    zero -= min(0.0, *logs) * scale
    d.text(320, 16, "Times as fast as another program (logarithmic)", bold=True)
    for i, ((task, other, ratio), log) in enumerate(zip(rows, logs, strict=True)):
        y, color = 36 + 36 * i, BLUE if log > 0 else ORANGE
        d.text(200, y + 13, task, anchor="end", size=15)
        d.text(210, y + 13, other, anchor="start", size=13, color=GRAY)
        d.bar(zero + min(0.0, log) * scale, y, abs(log) * scale, 26, color=color)
        label = f"{ratio:.2g} times as fast" if log > 0 else f"{1 / ratio:.2g} times as slow"
        d.text(
            zero + max(0.0, log) * scale + 8,
            y + 13,
            label,
            anchor="start",
            size=15,
            color=color,
            bold=True,
        )
    d.line(zero, 32, zero, 36 + 36 * len(rows))
    _by_time(d, classifiers["speed"]["models"])
    return d


def _by_time(d: Drawing, models: Mapping[str, Any]) -> None:
    """Draw test accuracies by training times below the bars."""
    names = {
        "TextClassifier": "TextClassifier",
        "fastText": "fastText, 3 epochs",
        "fastText, 5 epochs as published": "fastText, 5 epochs",
        "fastText, bucket 2,000,000": "fastText, 10 epochs",
    }
    ticks = [89, 90, 91, 92]
    place = _panel(d, (70, 310, 480, 130), ticks, "Test accuracy in % by training time")
    for tick in ticks[1:]:
        d.text(60, place(tick), f"{tick:g}", size=14, anchor="end", color=GRAY)
    for second in range(3):
        d.text(70 + 240 * second, 456, f"{second} s", size=14, color=GRAY)
    for i, (name, title) in enumerate(names.items()):
        x, y = 70 + 240 * models[name]["seconds"], place(models[name]["accuracy"])
        d.circle(x, y, 6, color=ORANGE if i else BLUE, shade=1)
        dx, dy, anchor = ((12, 0, "start"), (-4, 18, "end"), (0, -18, "middle"), (0, 20, "middle"))[
            i
        ]
        d.text(
            x + dx, y + dy, title, size=15, anchor=anchor, color=ORANGE if i else BLUE, bold=not i
        )
    d.text(
        320, 484, "AG News, 36,476 texts, two cores; fastText: dim 10, bigrams", size=14, color=GRAY
    )


def reversal() -> Drawing:
    """Draw the validation losses of both output layers by epoch, a line for each seed."""
    d = Drawing(
        640, 330, "Validation loss by epoch with the full softmax and with a tree, three seeds each"
    )
    ticks = [0, 1, 2, 3]
    for i, (file, label) in enumerate(
        (("reversal", "batches of 16, Adam"), ("reversal-sgd", "one string at a time"))
    ):
        x = 64 + 300 * i
        place = _panel(d, (x, 50, 250, 200), ticks, label)
        for tick in ticks:
            d.text(x - 10, place(tick), f"{10**tick:,}", size=14, anchor="end", color=GRAY)
        for epoch in (1, 5, 10, 15, 20):
            d.text(x + 250 * (epoch - 1) / 19, 266, str(epoch), size=14, color=GRAY)
        for one in read_lines(file):
            losses = one.get("valid_loss_per_epoch", [])
            changed = one["settings"].get("embeddings", "normal") != "normal"
            if len(losses) == 20 and one["settings"].get("arity") in (None, 2) and not changed:
                is_tree = one["output"] == "hsigmoid"
                points = [
                    (x + 250 * t / 19, place(math.log10(loss))) for t, loss in enumerate(losses)
                ]
                d.curve(points, color=ORANGE if is_tree else BLUE, dash="6 3" if is_tree else "")
    d.text(320, 290, "epoch", size=14, color=GRAY)
    d.text(60, 18, "validation loss", size=14, color=GRAY)
    d.line(150, 314, 190, 314, color=BLUE, width=2)
    d.text(198, 314, "full softmax", anchor="start", size=15)
    d.line(330, 314, 370, 314, color=ORANGE, width=2, dash="6 3")
    d.text(378, 314, "tree", anchor="start", size=15)
    return d


def few_labels() -> Drawing:
    """Draw accuracy by number of labels: of the text classifier in three ways, and of others."""
    sets = read("few_labels")["sets"]
    models = {
        "both": ("unlabeled texts and English encoder", BLUE, ""),
        "unlabeled": ("with unlabeled texts", GREEN, ""),
        "default": ("TextClassifier", INK, ""),
        "linear": ("TF-IDF and tuned LinearSVC", ORANGE, "6 3"),
        "teacher": ("regression on a Transformer's vectors", GRAY, "2 4"),
    }
    sizes = ["50", "250", "1000", "4000"]
    models = {name: line for name, line in models.items() if name in sets["ag_news"].get("250", {})}
    d = Drawing(640, 390, "Test accuracy by number of labels, five models")
    panels = [
        (f"mean of {len(ENGLISH_SETS)} English data sets", ENGLISH_SETS),
        ("AG News", ["ag_news"]),
    ]
    for i, (title, names) in enumerate(panels):
        x = 52 + 310 * i
        ticks = [45, 50, 55, 60, 65, 70, 75, 80, 85, 90]
        place = _panel(d, (x, 44, 260, 220), ticks, title)
        for tick in ticks:
            d.text(x - 8, place(tick), f"{tick}", size=14, anchor="end", color=GRAY)
        for j, size in enumerate(sizes):
            d.text(x + 20 + 73 * j, 280, f"{int(size):,}", size=14, color=GRAY)
        for model, (_, color, dash) in models.items():
            points = []
            for j, size in enumerate(sizes):
                cells = [sets[name][size] for name in names if size in sets[name]]
                if len(cells) == len(names) and all(model in cell for cell in cells):
                    mean = statistics.fmean(cell[model]["accuracy"] for cell in cells)
                    points.append((x + 20 + 73 * j, place(mean)))
            d.curve(points, color=color, dash=dash)
    d.text(320, 302, "number of labels; test accuracy in %", size=14, color=GRAY)
    for i, (title, color, dash) in enumerate(models.values()):
        x, y = 24 + 320 * (i % 2), 326 + 22 * (i // 2)
        d.line(x, y, x + 36, y, color=color, width=2, dash=dash)
        d.text(x + 44, y, title, anchor="start", size=15)
    return d


def robustness() -> Drawing:
    """Draw accuracy by error rate, a panel per data set and model, plain and trained on errors."""
    result = read("robustness")
    models = {"hash": "hash embeddings", "svm": "LinearSVC", "sgnn": "SGNN", "fasttext": "fastText"}
    d = Drawing(
        640,
        438,
        "Accuracy by the rate of typing errors, four models on two data sets, plain and augmented",
    )
    for row, name in enumerate(("trec", "sst2")):
        ticks = [30, 50, 70, 90] if name == "trec" else [55, 65, 75, 85]
        for column, (model, label) in enumerate(models.items()):
            x, y = 62 + 146 * column, 40 + 190 * row
            place = _panel(d, (x, y, 128, 130), ticks, label)
            if not column:
                d.text(10, y + 65, TITLES[name], anchor="start", size=13, bold=True)
                for tick in ticks:
                    d.text(x - 6, place(tick), str(tick), size=13, anchor="end", color=GRAY)
            for rate in (0, 10, 20):
                d.text(x + 128 * rate / 20, y + 145, str(rate), size=13, color=GRAY)
            for kind, color, dash in ((model, ORANGE, "6 3"), (f"{model}-augmented", BLUE, "")):
                if one := result["sets"][name].get(kind):
                    points = zip(result["rates"], one["accuracy"], strict=True)
                    d.curve(
                        [(x + 128 * rate / 0.2, place(value)) for rate, value in points],
                        color=color,
                        dash=dash,
                    )
    d.text(330, 398, "edits per hundred characters; test accuracy in %", size=14, color=GRAY)
    d.line(150, 422, 190, 422, color=ORANGE, width=2, dash="6 3")
    d.text(198, 422, "trained on clean texts", anchor="start", size=15)
    d.line(380, 422, 420, 422, color=BLUE, width=2)
    d.text(428, 422, "also on errors", anchor="start", size=15, color=INK)
    return d


def parameters() -> Drawing:
    """Draw the accuracy of embeddings on AG News by their number of parameters."""
    kinds = {
        "improved": ("hash", BLUE, ""),
        "paper": ("hash, variant of the paper", GREEN, "2 4"),
        "standard": ("standard", ORANGE, "6 3"),
        "dictionary": ("standard, dictionary", GRAY, "4 2"),
    }
    recipes = {"hash-embed-nodict": "improved", "std-embed-nodict": "standard"}
    found: dict[str, dict[float, list[float]]] = {kind: {} for kind in kinds}
    for one in read_lines("experiments"):
        name = one.get("embedding") if one["recipe"] == "accuracy-distribution" else None
        kind = recipes.get(one["recipe"]) or (name or "").partition(",")[0]
        is_variant = kind == "improved" and name not in (None, kind)
        if kind in kinds and not is_variant and one["settings"]["dataset"] == "ag":
            millions = float(f"{one['n_parameters'] / 1e6:.2g}")
            found[kind].setdefault(millions, []).append(100 * one["accuracy"])
    sizes = sorted({size for points in found.values() for size in points})
    means = {
        kind: {size: statistics.fmean(points[size]) for size in sorted(points)}
        for kind, points in found.items()
    }
    values = [value for points in means.values() for value in points.values()]
    ticks = [*range(math.floor(min(values)), math.ceil(max(values)) + 1)]
    d = Drawing(
        640,
        330,
        "Test accuracy of hash, standard and dictionary embeddings by number of parameters",
    )
    place = _panel(d, (60, 44, 560, 190), ticks, "AG News, 36,476 texts, words and pairs")

    def at(size: float) -> float:
        first, last = math.log(sizes[0]), math.log(sizes[-1])
        return 80 + 520 * (math.log(size) - first) / (last - first)

    for tick in ticks:
        d.text(52, place(tick), f"{tick}", size=14, anchor="end", color=GRAY)
    for size in sizes:
        d.text(at(size), 250, f"{size:g}", size=14, color=GRAY)
    d.text(320, 272, "million parameters (logarithmic); test accuracy in %", size=14, color=GRAY)
    for i, (kind, (title, color, dash)) in enumerate(kinds.items()):
        points = [(at(size), place(value)) for size, value in means[kind].items()]
        if len(points) > 1:
            d.curve(points, color=color, dash=dash)
        for x, y in points:
            d.circle(x, y, 4, color=color, shade=1)
        x, y = 90 + 270 * (i % 2), 298 + 22 * (i // 2)
        d.line(x, y, x + 36, y, color=color, width=2, dash=dash)
        d.text(x + 44, y, title, anchor="start", size=15)
    return d


DIAGRAMS: tuple[Callable[[], Drawing], ...] = (
    *(
        accuracy,
        sgnn_reproduction,
        coming_from_gensim,
        coming_from_fasttext,
        coming_from_scikit_learn,
    ),
    *(few_labels, mixture_perplexity, parameters, readme, reversal, robustness),
)
