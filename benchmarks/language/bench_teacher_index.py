r"""An index of a teacher's vectors searched with a small encoder: share of nearest neighbors found.

The teacher of `bench_sentence_teacher` encodes 50,000 sentences of Wikipedia once. Encoders of
several sizes learn its coordinates (`DistilledSentenceEncoder(n_components=None)`) from these and
more sentences, windows of their words and single words. Queries are 2,000 sentences that no encoder
was fitted on, and short ones of 4 to 12 of their words, as they are and with typing errors; their
neighbors are the sentences that the teacher finds for the query without errors.

share at k    Share of the teacher's k nearest neighbors among the k nearest that are found.
student       Queries are encoded by the student, the index by the teacher.
both          Queries and the index are encoded by the student.
augmented     A student fitted to the same texts and to copies with typing errors, with the vectors
              of the originals.
teacher       Queries with errors, and the index, are encoded by the teacher.
TF-IDF        Of characters, `char_wb` 2- to 5-grams, counted in the index.

    python -m benchmarks run bench_teacher_index --data DIR --teacher-vectors FOLDER
    python -m benchmarks run bench_teacher_index --data DIR --teacher-vectors FOLDER \
        --n-features 4096 65536
    # A test run
    python -m benchmarks run bench_teacher_index --data DIR --rows 300

Each result is written when it is measured and not measured again (unless --again is given).
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer

from benchmarks.common.benchmark import (
    FOLDER,
    BenchmarkParser,
    environment,
    read_result,
    write_result,
)
from benchmarks.common.data import DataFolder
from benchmarks.common.pages import table
from benchmarks.language import sentence_teacher
from sklearn_hashnlp import load_model, save_model
from sklearn_hashnlp.sentences import DistilledSentenceEncoder
from sklearn_hashnlp.text import distort_texts

RESULT = "teacher_index.json"
CONTENT = "wikipedia/paragraphs.txt"
PAGE = "teacher_index.md"
PLOT = Path(__file__).parents[2] / "docs" / "images" / "teacher_index.png"
PACKAGES = ("sklearn-hashnlp", "numpy", "scikit-learn", "scipy", "torch")
# Numbers of texts, multiples of the vectors per file
LEARNED = {"sentences": 65_536, "windows": 28_672, "words": 32_768}
SENTENCES, SHORT = "queries", "short queries"
MISSPELLED = [
    [f"{of}, {rate:.0%} errors" for rate in sentence_teacher.ERROR_RATES]
    for of in (SENTENCES, SHORT)
]
QUERIES = (SENTENCES, *MISSPELLED[0], SHORT, *MISSPELLED[1])
KS = (1, 10, 100)
PRECISIONS = ("float32", "int8")
TEACHER = "teacher"
TFIDF = "TF-IDF, characters"
AUGMENTED = "augmented"
AUGMENTED_FEATURES, AUGMENTED_RATE = 2**16, 0.05
MEGABYTE = 2**20
BLOCK = 200  # queries compared with the index at once

Share = dict[str, float]  # by k


class Bench:
    """Options, texts, vectors, the teacher's neighbors, and results of a run."""

    def __init__(
        self, data: DataFolder, path: Path | None, folder: Path, options: argparse.Namespace
    ) -> None:
        self.path = path
        self.options = options
        self.result = read_result(path)
        limits = {
            kind: getattr(options, kind) if data.rows is None else data.rows for kind in LEARNED
        }
        self.vectors = sentence_teacher.TeacherVectors(folder, data, options.package, limits)
        self.texts, self.targets = self.vectors.training(tuple(LEARNED))
        self.learned = {kind: len(self.vectors.training((kind,))[0]) for kind in LEARNED}
        self.index = slice(0, min(options.index, self.learned["sentences"]))
        self.queries = {kind: self.vectors.read(kind)[0] for kind in QUERIES}
        searched = self.targets[self.index].T
        self.wanted = {
            of: nearest(lambda q: q @ searched, self.vectors.read(of)[1])
            for of in (SENTENCES, SHORT)
        }

    def shares(self, similarities: Callable[[Any], NDArray[Any]], kind: str, queries: Any) -> Share:
        """Return shares of the teacher's neighbors among the most similar texts of the index."""
        return share(nearest(similarities, queries), self.wanted[kind.partition(",")[0]])

    def record(self, name: str, measured: dict[str, Any]) -> None:
        """Write results to the JSON."""
        print(f"{name}:", measured, flush=True)
        self.result |= environment(*PACKAGES)
        texts = {"texts": len(self.texts), "learned": self.learned, "index": self.index.stop}
        self.result |= texts | {
            "queries": {kind: len(texts) for kind, texts in self.queries.items()}
        }
        self.result.setdefault("models", {})[name] = measured
        write_result(self.path, self.result)


def nearest(similarities: Callable[[Any], NDArray[Any]], queries: Any) -> NDArray[np.int64]:
    """Return the indices of the most similar texts to each query, the most similar first."""
    rows = []
    for start in range(0, queries.shape[0], BLOCK):
        block = similarities(queries[start : start + BLOCK])
        some = np.argpartition(-block, min(KS[-1], block.shape[1] - 1), axis=1)[:, : KS[-1]]
        order = np.argsort(-np.take_along_axis(block, some, axis=1), axis=1, kind="stable")
        rows.append(np.take_along_axis(some, order, axis=1))
    return np.concatenate(rows)


def share(found: NDArray[np.int64], wanted: NDArray[np.int64]) -> Share:
    """Return the mean share of the first k wanted indices in the first k found, in percent."""
    pairs = list(zip(found, wanted, strict=True))
    return {
        str(k): 100 * float(np.mean([np.isin(a[:k], b[:k]).mean() for a, b in pairs])) for k in KS
    }


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
    parser.add_argument("--n-features", type=int, nargs="*", default=[2**n for n in range(12, 18)])
    parser.add_argument(
        "--index", type=int, default=50_000, help="sentences of the index (default: %(default)s)"
    )
    for kind, number in LEARNED.items():
        parser.add_argument(
            f"--{kind}", type=int, default=number, help="texts to learn from (default: %(default)s)"
        )
    parser.add_again()
    options, data, path = parser.read(arguments)
    with tempfile.TemporaryDirectory() as spare:
        folder = (
            Path(spare) / "vectors" if options.teacher_vectors is None else options.teacher_vectors
        )
        bench = Bench(data, path, folder, options)
        measured: dict[str, Callable[[], dict[str, Any]]] = {
            TEACHER: lambda: measure_teacher(bench),
            TFIDF: lambda: measure_tfidf(bench),
        }
        for n in options.n_features:
            measured[str(n)] = lambda n=n: measure_student(bench, n, Path(spare))
        if AUGMENTED_FEATURES in options.n_features:
            measured[AUGMENTED] = lambda: measure_student(
                bench, AUGMENTED_FEATURES, Path(spare), augmented=True
            )
        for name, measure in measured.items():
            if name not in bench.result.get("models", {}) or options.again:
                bench.record(name, measure())
    print(sizes(bench.result), errors(bench.result), sep="\n\n")
    if path is not None:
        draw(bench.result, PLOT if path == FOLDER / RESULT else path.with_suffix(".png"))


def measure_teacher(bench: Bench) -> dict[str, Any]:
    """Search with the teacher's vectors of queries with errors."""
    searched = bench.targets[bench.index].T
    kinds = [kind for kinds in MISSPELLED for kind in kinds]
    shares = {
        kind: bench.shares(lambda q: q @ searched, kind, bench.vectors.read(kind)[1])
        for kind in kinds
    }
    return {
        "package": sentence_teacher.PEER.distribution,
        "licenses": sentence_teacher.LICENSES,
        TEACHER: shares,
    }


def measure_tfidf(bench: Bench) -> dict[str, Any]:
    """Search with TF-IDF of characters of queries and index."""
    vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), dtype=np.float32)
    searched = vectorizer.fit_transform(bench.texts[bench.index]).T.tocsr()
    return {
        TFIDF: {
            kind: bench.shares(
                lambda q: (q @ searched).toarray(), kind, vectorizer.transform(texts)
            )
            for kind, texts in bench.queries.items()
        }
    }


def measure_student(
    bench: Bench, n_features: int, folder: Path, *, augmented: bool = False
) -> dict[str, Any]:
    """Fit a student; search the teacher's index and its own, also with int8 coefficients."""
    texts = bench.texts
    targets = bench.targets
    start = time.process_time()
    if augmented:
        texts = texts + distort_texts(texts, AUGMENTED_RATE, random_state=1)
        targets = np.concatenate([targets, targets])
    encoder = DistilledSentenceEncoder(n_features=n_features, n_components=None).fit(texts, targets)
    measured: dict[str, Any] = {"processor seconds": time.process_time() - start}
    for precision in PRECISIONS:
        path = folder / f"{n_features}-{precision}"
        save_model(encoder, path, precision=precision)
        size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
        model = load_model(path)
        own, of_teacher = model.transform(bench.texts[bench.index]).T, bench.targets[bench.index].T
        measured[precision] = {"bytes": size, "student": {}, "both": {}}
        for kind in QUERIES if precision == PRECISIONS[0] else (SENTENCES,):
            queries = model.transform(bench.queries[kind])
            measured[precision]["student"][kind] = bench.shares(
                lambda q, i=of_teacher: q @ i, kind, queries
            )
            measured[precision]["both"][kind] = bench.shares(lambda q, i=own: q @ i, kind, queries)
    return measured


def students(result: dict[str, Any]) -> list[tuple[int, dict[str, Any]]]:
    """Return the numbers of n-grams and the results of the students, the smallest first."""
    return sorted((int(name), run) for name, run in result["models"].items() if name.isdecimal())


def sizes(result: dict[str, Any]) -> str:
    """Return the table of sentences as queries: a row per number of n-grams, and TF-IDF."""
    header = [
        "n-grams",
        "MB",
        "MB, int8",
        *(f"student, at {k}" for k in KS),
        "int8, at 10",
        *(f"both, at {k}" for k in KS),
    ]
    rows = []
    for n, run in students(result):
        megabytes = [f"{run[precision]['bytes'] / MEGABYTE:.1f}" for precision in PRECISIONS]
        student, small, both = (
            [f"{run[precision][side][SENTENCES][str(k)]:.1f}" for k in KS]
            for precision, side in (
                ("float32", "student"),
                ("int8", "student"),
                ("float32", "both"),
            )
        )
        rows.append([f"{n:,}", *megabytes, *student, small[1], *both])
    baseline = result["models"][TFIDF][TFIDF][SENTENCES]
    return table(header, [*rows, [TFIDF, *[""] * 6, *(f"{baseline[str(k)]:.1f}" for k in KS)]])


def errors(result: dict[str, Any]) -> str:
    """Return the table of shares at 10 by kind of queries: a row per model."""
    models = result["models"]
    rows = [(TEACHER, models[TEACHER][TEACHER])]
    for side in ("student", "both"):
        rows += [(f"{side}, {n:,} n-grams", run["float32"][side]) for n, run in students(result)]
        if AUGMENTED in models:
            rows.append(
                (
                    f"{side}, {AUGMENTED_FEATURES:,} n-grams, augmented",
                    models[AUGMENTED]["float32"][side],
                )
            )
    rows.append((TFIDF, models[TFIDF][TFIDF]))
    return table(
        ("", *QUERIES),
        (
            (name, *(f"{run[kind]['10']:.1f}" if kind in run else "" for kind in QUERIES))
            for name, run in rows
        ),
    )


def draw(result: dict[str, Any], path: Path) -> None:
    """Plot the size of the saved encoder against the share at 10."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    for side, marker in (("student", "o"), ("both", "s")):
        for precision, line in zip(PRECISIONS, ("-", ":"), strict=True):
            runs = [run[precision] for _, run in students(result)]
            shares = [run[side][SENTENCES]["10"] for run in runs]
            label = f"{side}, {precision}"
            axes.plot(
                [run["bytes"] / MEGABYTE for run in runs], shares, line, marker=marker, label=label
            )
    axes.axhline(
        result["models"][TFIDF][TFIDF][SENTENCES]["10"], color="gray", linestyle="--", label=TFIDF
    )
    axes.set(
        xscale="log",
        xlabel="size of the saved encoder, MB",
        ylabel="share of the teacher's 10 neighbors, %",
    )
    axes.set_ylim(0)
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(path, dpi=100)


TABLES = {"teacher index": sizes, "teacher index with errors": errors}
