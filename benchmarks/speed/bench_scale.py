"""Time and memory of training on 10,000 to 1,000,000 documents, at once and as a stream.

The documents are the training rows of AG News, repeated, with three of ten words replaced at
random. `fit` gets them as one list; `partial_fit` gets chunks of 10,000, each generated when it is
needed and then freed. Every size and method runs in a new process. Seconds are of fit, or of
vectorizer.transform and classifier.partial_fit together; generating documents is not counted. Peak
memory is of the whole process, with Python, torch, the real rows and, for fit, all documents. The
slope in log-log scale is the exponent of the time: 1 is linear.

    python -m benchmarks run bench_scale --data DIR
    # A test run; writes no JSON
    python -m benchmarks run bench_scale --data DIR --rows 2000 --sizes 1000 3162 10000

Writes a plot next to the JSON (needs matplotlib). The largest fit needs some gigabytes.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common.benchmark import BenchmarkParser, environment, read_result, write_result
from benchmarks.common.data import DataFolder
from benchmarks.common.memory import in_new_process, peak_mb, reset_peak, resident_mb
from benchmarks.common.synthetic_texts import SHARE, chunks, perturbed
from sklearn_hashnlp.classifiers import make_text_classifier

RESULT = "scale.json"
SIZES = [10_000, 31_623, 100_000, 316_228, 1_000_000]
METHODS = ("fit", "partial_fit")
CHUNK = 10_000
GOAL_MIB = 6 * 1024
COLORS = {"fit": "#4c72b0", "partial_fit": "#dd8452"}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = BenchmarkParser(__doc__, RESULT)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="default: %(default)s")
    parser.add_choices("--methods", METHODS)
    options, data, path = parser.read(arguments)
    # keep the other method's results
    methods: dict[str, Any] = read_result(path).get("methods", {})
    print(f"{'':12}{'documents':>11}{'seconds':>9}{'documents/s':>13}{'peak MiB':>10}")
    for method in options.methods:
        measured = []
        for size in options.sizes:
            measured.append(in_new_process(measure, data, method, size))
            one = measured[-1]
            print(
                (
                    f"{method:12}{size:11,}{one['seconds']:9.2f}{size / one['seconds']:13,.0f}"
                    f"{one['peak MiB']:10,.0f}"
                ),
                flush=True,
            )
        methods[method] = {
            "slope": slope([(one["documents"], one["seconds"]) for one in measured]),
            "runs": measured,
        }
        print(
            f"{method}: time grows as documents to the power of {methods[method]['slope']:.2f}; 1 "
            "is linear."
        )
    print(
        f"Goals: linear time; fit within {GOAL_MIB:,} MiB; partial_fit in memory that does not "
        "grow."
    )

    packages = ("sklearn-hashnlp", "numpy", "scikit-learn", "scipy", "skorch", "torch")
    documents = {
        "from": "AG News, training rows",
        "words drawn anew": SHARE,
        "documents a part": CHUNK,
    }
    write_result(path, environment(*packages) | {"documents": documents, "methods": methods})
    if path is not None:
        draw(methods, path.with_suffix(".png"))
        print(f"Written: {path} and {path.with_suffix('.png')}")


def measure(data: DataFolder, method: str, size: int) -> dict[str, Any]:
    rows = data.train("ag_news")
    # Load everything used before timing.
    warm = make_text_classifier(random_state=0).fit(rows.texts[:1000], rows.labels[:1000])
    warm["classifier"].partial_fit(
        warm["vectorizer"].transform(rows.texts[:1000]), rows.labels[:1000]
    )
    del warm
    documents, classes = perturbed(rows), sorted(set(rows.labels))
    model = make_text_classifier(random_state=0)
    reset_peak()
    idle = resident_mb()
    resident = []
    seconds = 0.0
    if method == "fit":
        (everything,) = chunks(documents, size, size)
        start = time.perf_counter()
        model.fit(everything.texts, everything.labels)
        seconds = time.perf_counter() - start
    else:
        for chunk in chunks(documents, size, CHUNK):
            start = time.perf_counter()
            X = model["vectorizer"].transform(chunk.texts)
            model["classifier"].partial_fit(X, chunk.labels, classes=classes)
            seconds += time.perf_counter() - start
            resident.append(round(resident_mb()))
    return {
        "documents": size,
        "seconds": seconds,
        "peak MiB": peak_mb(),
        "idle MiB": idle,
        "MiB after each part": resident,
    }


def slope(points: Sequence[tuple[float, float]]) -> float:
    """Return the slope of the least-squares line through the logarithms of both coordinates."""
    x, y = np.log(np.asarray(points, dtype=float)).T
    return float(np.polyfit(x, y, 1)[0])


def draw(methods: dict[str, Any], path: Path) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    time_ax, memory_ax = figure.subplots(1, 2)
    for method, measured in methods.items():
        documents = [run["documents"] for run in measured["runs"]]
        style: dict[str, Any] = {"marker": "o", "markersize": 4, "color": COLORS[method]}
        time_ax.plot(
            documents,
            [run["seconds"] for run in measured["runs"]],
            label=f"{method}, slope {measured['slope']:.2f}",
            **style,
        )
        memory_ax.plot(
            documents, [run["peak MiB"] for run in measured["runs"]], label=method, **style
        )
    linear = np.array(
        sorted({run["documents"] for measured in methods.values() for run in measured["runs"]})
    )
    largest = max(
        (run for measured in methods.values() for run in measured["runs"]),
        key=lambda run: run["documents"],
    )
    time_ax.plot(
        linear,
        largest["seconds"] * linear / largest["documents"],
        color="0.5",
        linestyle="--",
        linewidth=1,
        label="slope 1",
    )
    memory_ax.axhline(GOAL_MIB, color="0.5", linestyle="--", linewidth=1, label="6 GiB")
    for ax, name in ((time_ax, "seconds"), (memory_ax, "peak memory of the process, MiB")):
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xlabel("documents")
        ax.set_ylabel(name)
        ax.grid(alpha=0.3)
        # Below the plot it covers no curve.
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=3, frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
