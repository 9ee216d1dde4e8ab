"""Time and memory of training on 10,000 to 1,000,000 documents, at once and as a stream.

The documents are AG News' training rows, repeated, with three words of ten drawn anew. `fit` gets them as one list;
`partial_fit` gets them in parts of 10,000, each made when it is wanted and then forgotten. Every size has a fresh
process of its own for each way. Seconds are those of fit, or of vectorizer.transform and classifier.partial_fit
together; making documents is not counted. Peak memory is that of the whole process, with Python, torch, the real rows
and, for fit, all documents. The slope in double logarithms says how time grows: 1 is linear.

    python benchmarks/bench_scale.py --data DIR
    python benchmarks/bench_scale.py --data DIR --rows 2000 --sizes 1000 3162 10000     (a trial; writes no JSON)

Writes a plot beside the JSON (needs matplotlib). The largest fit takes some gigabytes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from common.data import DataFolder, add_data_options, data_folder
from common.memory import forget_peak, peak_mb, resident_mb
from common.results_file import add_output_option, output_path, read_result, surroundings, write_result
from common.synthetic_texts import SHARE, parts, perturbed

from sklearn_hashnlp.classifiers import make_text_classifier

RESULT = "scale.json"
SIZES = [10_000, 31_623, 100_000, 316_228, 1_000_000]
WAYS = ("fit", "partial_fit")
PART = 10_000
GOAL_MIB = 6 * 1024
COLOURS = {"fit": "#4c72b0", "partial_fit": "#dd8452"}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_data_options(parser)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="default: %(default)s")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS), help="default: both")
    parser.add_argument("--worker", nargs=2, metavar=("WAY", "SIZE"), help=argparse.SUPPRESS)
    add_output_option(parser, RESULT)
    options = parser.parse_args(arguments)
    data, path = data_folder(parser, options), output_path(options, RESULT)
    if options.worker is not None:
        print(json.dumps(measure(data, options.worker[0], int(options.worker[1]))))
        return

    ways: dict[str, Any] = read_result(path).get("ways", {})  # one way can be measured anew beside the other
    print(f"{'':12}{'documents':>11}{'seconds':>9}{'documents/s':>13}{'peak MiB':>10}")
    for way in options.ways:
        found = []
        for size in options.sizes:
            found.append(in_a_process(data, way, size))
            one = found[-1]
            print(
                f"{way:12}{size:11,}{one['seconds']:9.2f}{size / one['seconds']:13,.0f}{one['peak MiB']:10,.0f}",
                flush=True,
            )
        ways[way] = {"slope": slope([(one["documents"], one["seconds"]) for one in found]), "runs": found}
        print(f"{way}: time grows with the {ways[way]['slope']:.2f}th power of the documents; 1 is linear.")
    print(f"Goals: linear time; fit within {GOAL_MIB:,} MiB; partial_fit in memory that does not grow.")

    packages = ("sklearn-hashnlp", "numpy", "scikit-learn", "scipy", "skorch", "torch")
    documents = {"from": "AG News, training rows", "words drawn anew": SHARE, "documents a part": PART}
    write_result(path, surroundings(*packages) | {"documents": documents, "ways": ways})
    if path is not None:
        draw(ways, path.with_suffix(".png"))
        print(f"Written: {path} and {path.with_suffix('.png')}")


def in_a_process(data: DataFolder, way: str, size: int) -> dict[str, Any]:
    command = [sys.executable, __file__, "--data", str(data.path), "--worker", way, str(size)]
    if data.rows is not None:
        command += ["--rows", str(data.rows)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def measure(data: DataFolder, way: str, size: int) -> dict[str, Any]:
    rows = data.train("ag_news")
    # Compiled kernels are loaded before the clock starts.
    warm = make_text_classifier(random_state=0).fit(rows.texts[:1000], rows.labels[:1000])
    warm["classifier"].partial_fit(warm["vectorizer"].transform(rows.texts[:1000]), rows.labels[:1000])
    del warm
    documents, classes = perturbed(rows), sorted(set(rows.labels))
    model = make_text_classifier(random_state=0)
    forget_peak()
    idle, resident, seconds = resident_mb(), [], 0.0
    if way == "fit":
        (everything,) = parts(documents, size, size)
        start = time.perf_counter()
        model.fit(everything.texts, everything.labels)
        seconds = time.perf_counter() - start
    else:
        for part in parts(documents, size, PART):
            start = time.perf_counter()
            X = model["vectorizer"].transform(part.texts)
            model["classifier"].partial_fit(X, part.labels, classes=classes)
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
    """Give the slope of the straight line through the logarithms of both, by least squares."""
    x, y = np.log(np.asarray(points, dtype=float)).T
    return float(np.polyfit(x, y, 1)[0])


def draw(ways: dict[str, Any], path: Path) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    time_ax, memory_ax = figure.subplots(1, 2)
    for way, found in ways.items():
        documents = [run["documents"] for run in found["runs"]]
        style: dict[str, Any] = {"marker": "o", "markersize": 4, "color": COLOURS[way]}
        time_ax.plot(
            documents, [run["seconds"] for run in found["runs"]], label=f"{way}, slope {found['slope']:.2f}", **style
        )
        memory_ax.plot(documents, [run["peak MiB"] for run in found["runs"]], label=way, **style)
    linear = np.array(sorted({run["documents"] for found in ways.values() for run in found["runs"]}))
    largest = max((run for found in ways.values() for run in found["runs"]), key=lambda run: run["documents"])
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
        # Below the plot no curve can run through it.
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=3, frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main()
