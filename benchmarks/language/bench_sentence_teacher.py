r"""A sentence encoder that learns from a teacher: a Transformer with 22 million parameters.

The teacher encodes sentences of Wikipedia, windows of 4 to 12 of their words, single words, and
beginnings of questions with words of Wikipedia; its vectors are cached in the folder
--teacher-vectors, and only missing ones are computed, for which its package is installed. Encoders
are fitted to these vectors, but for 5 % of the sentences:

held-out cosine   Mean cosine of the vectors of an encoder in the teacher's coordinates and the
                  teacher's own, on those.
similarity        Rank correlation with human scores, the development set of the STS benchmark.
classification    Logistic regression on frozen vectors: trec, sst2, and imdb with the mean of a
                  review's sentences.
size, speed       Of the saved folder, also with int8 coefficients, and sentences per second on two
                  threads.

    python -m benchmarks run bench_sentence_teacher --data DIR --teacher-vectors FOLDER
    python -m benchmarks run bench_sentence_teacher --data DIR --teacher-vectors FOLDER \
        --models default --sets trec
    # A test run
    python -m benchmarks run bench_sentence_teacher --data DIR --teacher-vectors FOLDER --rows 300

Each result is written when it is measured and not measured again (unless --again is given).
"""

from __future__ import annotations

import argparse
import math
import tempfile
import time
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import Normalizer, normalize

from benchmarks.common.benchmark import (
    FOLDER,
    BenchmarkParser,
    environment,
    read_result,
    write_result,
)
from benchmarks.common.data import DataFolder, read_text
from benchmarks.common.pages import table
from benchmarks.language import sentence_tasks, sentence_teacher
from sklearn_hashnlp import load_model, save_model
from sklearn_hashnlp.sentences import DistilledSentenceEncoder, SGNNSentenceEncoder

RESULT = "sentence_teacher.json"
CONTENT = (
    "wikipedia/paragraphs.txt, stsb/dev.csv and trec/, sst2/ and imdb/, each with train.csv and "
    "test.csv"
)
PAGE = "sentence_encoder.md"
SETS = ("trec", "sst2", "imdb")
MEGABYTE = 2**20
PLOT = Path(__file__).parents[2] / "docs" / "images" / "sentence_teacher.png"
PACKAGES = ("sklearn-hashnlp", "numpy", "scikit-learn", "scipy", "torch")
DEFAULT = "default"
WITHOUT = "without a teacher"
TEACHER = "teacher"
OWN = "teacher's coordinates"
STUDENTS: dict[str, dict[str, Any]] = {
    DEFAULT: {},  # beside an encoder that is fitted without the teacher
    "vectors alone": {},
    OWN: {"n_components": None},
    **{f"{n} columns": {"n_components": n} for n in (64, 128, 256)},
    **{f"{n:,} n-grams": {"n_features": n} for n in (2**14, 2**15, 2**16, 2**17)},
    "64 columns, 16,384 n-grams": {"n_components": 64, "n_features": 2**14},
}
CLASSIFIED = (DEFAULT, WITHOUT, "vectors alone", TEACHER)
MODELS = (WITHOUT, *STUDENTS, TEACHER)
SPEED_SENTENCES = 8_000
THREADS = 2


class Bench:
    """Options, texts, vectors and results of a run."""

    def __init__(
        self, data: DataFolder, path: Path | None, folder: Path, options: argparse.Namespace
    ) -> None:
        self.data = data
        self.path = path
        self.options = options
        self.result = read_result(path)
        limits = {"windows": options.windows} | (
            {} if data.rows is None else dict.fromkeys(LIMITED, data.rows)
        )
        self.vectors = sentence_teacher.TeacherVectors(folder, data, options.package, limits)

    @cached_property
    def pairs(self) -> sentence_tasks.Pairs:
        """Pairs of sentences with human similarity scores."""
        return sentence_tasks.read_pairs(self.data)

    def is_known(self, name: str, what: str) -> bool:
        """Check whether the JSON already holds a result, and --again is not given."""
        return what in self.result.get("models", {}).get(name, {}) and not self.options.again

    def record(self, name: str, measured: dict[str, Any]) -> None:
        """Write results to the JSON."""
        print(f"{name}:", measured, flush=True)
        self.result |= environment(*PACKAGES)
        self.result.setdefault("models", {}).setdefault(name, {}).update(measured)
        write_result(self.path, self.result)


LIMITED = ("sentences", "windows", "words", "questions")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = BenchmarkParser(__doc__, RESULT, CONTENT)
    parser.add_argument(
        "--teacher-vectors", type=Path, help="folder of the teacher's vectors (default: not kept)"
    )
    parser.add_argument(
        "--package",
        type=Path,
        help="folder to install the teacher in, if needed (default: not kept)",
    )
    parser.add_choices("--models", MODELS)
    parser.add_choices("--sets", sentence_tasks.SETS)
    parser.add_argument(
        "--windows", type=int, default=53_248, help="number of windows (default: %(default)s)"
    )
    parser.add_argument("--rounds", type=int, default=5, help="of speed (default: %(default)s)")
    parser.add_again()
    options, data, path = parser.read(arguments)
    with tempfile.TemporaryDirectory() as spare:
        folder = (
            Path(spare) / "vectors" if options.teacher_vectors is None else options.teacher_vectors
        )
        bench = Bench(data, path, folder, options)
        for name in options.models:
            if name == TEACHER:
                measure_teacher(bench)
            elif not bench.is_known(name, "sentences/s"):
                measure_encoder(bench, name, fitted(bench, name), Path(spare))
            if name in CLASSIFIED:
                classify(bench, name)
    print(markdown(bench.result))
    if path is not None:
        plot = PLOT if path == FOLDER / RESULT else path.with_suffix(".png")
        draw(bench.result, plot)
        print(f"Written: {path} and {plot}")


def whole(text: str) -> list[str]:
    """Return a text as its only sentence."""
    return [text]


def student(name: str) -> Any:
    """Return a distilled encoder; the default has another one of equal weight beside it."""
    distilled = DistilledSentenceEncoder(**STUDENTS[name], n_jobs=THREADS)
    if name != DEFAULT:
        return distilled
    words = SGNNSentenceEncoder(
        max_epochs=0, sentence_splitter=whole, n_jobs=THREADS, random_state=0
    )
    weights = dict.fromkeys(("distilled", "words"), math.sqrt(0.5))
    union = FeatureUnion([("distilled", distilled), ("words", words)], transformer_weights=weights)
    return make_pipeline(union, Normalizer())


def fitted(bench: Bench, name: str) -> Any:
    """Fit an encoder; without a teacher to the paragraphs that the sentences are from."""
    start, cpu = time.perf_counter(), time.process_time()
    if name == WITHOUT:
        encoder = SGNNSentenceEncoder(n_jobs=THREADS, random_state=0).fit(
            read_text(bench.data, "wikipedia", "paragraphs.txt")
        )
    else:
        texts, vectors = bench.vectors.training()
        bench.result["texts"] = len(texts)
        encoder = student(name).fit(texts, vectors)
    seconds = {
        "seconds": time.perf_counter() - start,
        "processor seconds": time.process_time() - cpu,
    }
    bench.record(name, seconds | {"settings": STUDENTS.get(name, {})})
    return encoder


def measure_encoder(bench: Bench, name: str, encoder: Any, folder: Path) -> None:
    """Record similarity, sizes and speed, and keep the model for the classifiers."""
    measured: dict[str, Any] = {"columns": encoder.transform(["a"]).shape[1]}
    measured["similarity"] = sentence_tasks.correlations(encoder, bench.pairs)
    for precision in ("float32", "int8"):
        path = folder / f"{name} {precision}".replace(" ", "-")
        save_model(encoder, path, precision=precision)
        size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
        measured[precision] = {
            "bytes": size,
            **sentence_tasks.correlations(load_model(path), bench.pairs),
        }
    if name == OWN:
        texts, vectors = bench.vectors.held_out()
        cosines = np.einsum("ij,ij->i", encoder.transform(texts), normalize(vectors))
        measured["held-out cosine"] = float(cosines.mean())
    sentences = bench.vectors.read("sentences")[0][-SPEED_SENTENCES:]
    rates = []
    for _ in range(bench.options.rounds):
        start = time.perf_counter()
        encoder.transform(sentences)
        rates.append(len(sentences) / (time.perf_counter() - start))
    bench.record(name, measured | {"sentences/s": float(np.median(rates))})
    if name in CLASSIFIED:
        classify(bench, name, encoder)


def measure_teacher(bench: Bench) -> None:
    """Record the similarity of the teacher's vectors."""
    if bench.is_known(TEACHER, "similarity"):
        return
    bench.record(
        TEACHER, {"similarity": sentence_tasks.correlations(of_teacher(bench, "stsb"), bench.pairs)}
    )
    about = {"package": sentence_teacher.PEER.distribution, "licenses": sentence_teacher.LICENSES}
    bench.record(TEACHER, about | {"parameters": 22_713_216, "columns": sentence_teacher.DIM})


def of_teacher(bench: Bench, kind: str) -> Any:
    """Return a model whose ``transform`` looks the teacher's vectors up."""
    texts, vectors = bench.vectors.read(kind)
    rows = dict(zip(texts, vectors, strict=True))

    class Known:
        def transform(self, some: list[str]) -> Any:
            return np.stack([rows[text] for text in some])

    return Known()


def classify(bench: Bench, name: str, encoder: Any = None) -> None:
    """Record test accuracies on frozen vectors; the teacher's are too slow to compute for imdb."""
    for one in bench.options.sets:
        if bench.is_known(name, one) or (name == TEACHER and one == "imdb"):
            continue
        if name == TEACHER:
            encoder = of_teacher(bench, one)
        elif encoder is None:
            encoder = fitted(bench, name)
        bench.record(name, {one: sentence_tasks.classify(encoder, one, bench.data)})


def markdown(result: dict[str, Any]) -> str:
    """Return the table: a row per model."""
    header = ("", "columns", "MB", "MB, int8", "STS", "STS, int8", *SETS, "sentences/s")
    return table(header, ((name, *_cells(run)) for name, run in result.get("models", {}).items()))


def section(result: dict[str, Any]) -> str:
    """Return the table, the cosine on held-out sentences, and the plot."""
    cosines = [
        run["held-out cosine"] for run in result["models"].values() if "held-out cosine" in run
    ]
    parts = [markdown(result)]
    parts += [
        "On held-out sentences, the mean cosine of vectors in the teacher's coordinates and its "
        f"own is {cosine:.3f}."
        for cosine in cosines
    ]
    return "\n\n".join(
        [*parts, f"![Size of the folder against rank correlation](images/{PLOT.name})"]
    )


def _cells(run: dict[str, Any]) -> list[str]:
    sizes = [
        f"{run[kind]['bytes'] / MEGABYTE:.0f}" if kind in run else ""
        for kind in ("float32", "int8")
    ]
    scores = [f"{run[kind]['whole']:.1f}" if kind in run else "" for kind in ("similarity", "int8")]
    accuracies = [f"{run[one]['C chosen']:.1f}" if one in run else "" for one in SETS]
    rate = f"{run['sentences/s']:,.0f}" if "sentences/s" in run else ""
    return [f"{run['columns']:,}" if "columns" in run else "", *sizes, *scores, *accuracies, rate]


def draw(result: dict[str, Any], path: Path) -> None:
    """Plot size of the folder against rank correlation, in float32 and int8."""
    from matplotlib.figure import Figure

    models = {name: run for name, run in result.get("models", {}).items() if "int8" in run}
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    for kind, marker in (("float32", "o"), ("int8", "s")):
        sizes = [run[kind]["bytes"] / MEGABYTE for run in models.values()]
        axes.scatter(
            sizes, [run[kind]["whole"] for run in models.values()], marker=marker, label=kind
        )
    height = 0.0
    for name, run in sorted(models.items(), key=lambda model: float(model[1]["float32"]["whole"])):
        # At the right, where names cover no point, and each above the one before.
        place = run["float32"]["bytes"] / MEGABYTE, run["float32"]["whole"]
        height = max(place[1], height + 0.45)
        leader = {"arrowstyle": "-", "color": "0.6"}
        axes.annotate(
            name,
            place,
            (1.02, height),
            textcoords=("axes fraction", "data"),
            va="center",
            arrowprops=leader,
        )
    if "similarity" in result["models"].get("teacher", {}):
        axes.axhline(
            result["models"]["teacher"]["similarity"]["whole"], linestyle=":", label="teacher"
        )
    axes.set(
        xscale="log", xlabel="size of the folder, MB", ylabel="STS benchmark, dev: Spearman x 100"
    )
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(path, dpi=100)


TABLES = {"teacher": section}
