"""The first minute with the package: processor seconds and memory of import, first model, commands.

Each figure is the median of several fresh processes, in which nothing is loaded yet.

    python -m benchmarks run bench_first_minute

It needs no data. Other programs on the machine lengthen also the processor seconds, by a third and
more.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.common.benchmark import FOLDER, environment, write_result
from benchmarks.common.pages import table
from benchmarks.speed.bench_serving import run_worker

RESULT = "first_minute.json"
PAGE = "installation.md"
PACKAGES = ("sklearn-hashnlp", "numpy", "scikit-learn", "scipy", "torch")
MAILS = (
    "label,text\nspam,You have won a prize\nham,Lunch at noon?\nspam,Claim your prize\n"
    "ham,See you at lunch\n"
)
SCIKIT_LEARN = "import sklearn.feature_extraction.text, sklearn.linear_model"
VECTORIZERS = "from sklearn_hashnlp import CharNgramFeaturizer, HashingNgramVectorizer"
IMPORT = "from sklearn_hashnlp import TextClassifier"
FIT = f"""{IMPORT}
texts = ["You have won a prize", "Lunch at noon?", "Claim your prize", "See you at lunch"]
labels = ["spam", "ham", "spam", "ham"]
TextClassifier(random_state=0).fit(texts, labels).predict(["You have won"])"""
LOAD = """from sklearn_hashnlp import load_model
load_model("spam").predict(["You have won"])"""
HASHNLP = ("-m", "sklearn_hashnlp")
# arguments of Python, in an order in which each finds what it reads
TASKS: dict[str, tuple[str, ...]] = {
    "`import sklearn`, of it vectorizers and linear models": ("-c", SCIKIT_LEARN),
    "`from sklearn_hashnlp import HashingNgramVectorizer`": ("-c", VECTORIZERS),
    f"`{IMPORT}`": ("-c", IMPORT),
    "`TextClassifier().fit` of four texts, and a prediction": ("-c", FIT),
    "`hashnlp train` of four texts": (*HASHNLP, "train", "mails.csv", "--model", "spam", "--quiet"),
    "`load_model` of this model, and a prediction": ("-c", LOAD),
    "`hashnlp predict` with this model": (*HASHNLP, "predict", "--model", "spam"),
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--repeats", type=int, default=3, help="processes of each kind (default: %(default)s)"
    )
    parser.add_argument(
        "--output", type=Path, default=FOLDER / RESULT, help="the JSON (default: %(default)s)"
    )
    options = parser.parse_args(arguments)
    seconds: dict[str, list[float]] = {name: [] for name in TASKS}
    memory: dict[str, list[float]] = {name: [] for name in TASKS}
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        (work / "mails.csv").write_text(MAILS, encoding="utf-8")
        (work / "texts.json").write_text('["You have won"]', encoding="utf-8")
        for _ in range(options.repeats):
            for name, command in TASKS.items():
                if "train" in command:
                    shutil.rmtree(work / "spam", ignore_errors=True)
                run = run_worker(
                    "command", json.dumps([sys.executable, *command]), work / "texts.json", work
                )
                seconds[name].append(run["start s"])
                memory[name].append(run["memory MiB"])
                print(f"{name}: {seconds[name][-1]:.2f} s, {memory[name][-1]:.0f} MiB", flush=True)
    result = environment(*PACKAGES) | {
        "repeats": options.repeats,
        "seconds": seconds,
        "MiB": memory,
    }
    result["medians"] = {
        name: [statistics.median(seconds[name]), statistics.median(memory[name])] for name in TASKS
    }
    print(markdown(result))
    write_result(options.output, result)


def markdown(result: dict[str, Any]) -> str:
    """Return the table: a row per task."""
    rows = (
        (name, f"{seconds:.2f}", f"{peak:.0f}")
        for name, (seconds, peak) in result.get("medians", {}).items()
    )
    return table(("in a new process", "s", "MiB"), rows)


TABLES = {"first minute": markdown}
