"""The first minute with the package: processor seconds and memory of import, first model, commands.

Each figure is the median of several fresh processes, in which nothing is loaded yet; beside those
of this package, fastText 0.9.2 and its heirs train on the same four texts and load their model.

    python -m benchmarks run bench_first_minute

It needs no data. Each package is installed into a temporary folder for the run (--fasttext keeps
them). Other programs on the machine lengthen also the processor seconds, by a third and
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

from benchmarks.common.benchmark import FOLDER, add_fasttext, environment, write_result
from benchmarks.common.fasttext_peers import FASTTEXT, PEERS
from benchmarks.common.fasttext_processes import peer_folders
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
# Training of four texts by a package: its folder, its module; it fails sometimes, by a NaN
THEIR_FIT = """import sys
sys.path.insert(0, {folder!r})
import {module} as fasttext
for seed in range(100):
    try:
        model = fasttext.train_supervised("mails.txt", dim=10, seed=seed, thread=1, verbose=0)
        break
    except RuntimeError:
        pass
model.f.predict("You have won", 1, 0.0, "strict")
model.save_model("mails-{name}.bin")"""
THEIR_LOAD = """import sys
sys.path.insert(0, {folder!r})
import {module} as fasttext
fasttext.load_model("mails-{name}.bin").f.predict("You have won", 1, 0.0, "strict")"""


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
    add_fasttext(parser)
    options = parser.parse_args(arguments)
    result = environment(*PACKAGES) | {"repeats": options.repeats}
    names = [FASTTEXT, *options.heirs]
    with peer_folders(names, options.fasttext, result["versions"]) as peers:
        result |= measure(TASKS | their_tasks(peers), options.repeats)
    print(markdown(result))
    write_result(options.output, result)


def their_tasks(peers: dict[str, Path]) -> dict[str, tuple[str, ...]]:
    """Return the arguments of Python that train with each package and load what it trained."""
    titles = {
        "`train_supervised` of {name} of the four texts, and a prediction": THEIR_FIT,
        "`load_model` of {name}, and a prediction": THEIR_LOAD,
    }
    return {
        title.format(name=name): (
            "-c",
            code.format(folder=str(folder), module=PEERS[name].module, name=name),
        )
        for name, folder in peers.items()
        for title, code in titles.items()
    }


def measure(tasks: dict[str, tuple[str, ...]], repeats: int) -> dict[str, Any]:
    """Run the tasks in turn; return the seconds and memory of each, and their medians."""
    seconds: dict[str, list[float]] = {name: [] for name in tasks}
    memory: dict[str, list[float]] = {name: [] for name in tasks}
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        (work / "mails.csv").write_text(MAILS, encoding="utf-8")
        lines = [line.replace(",", " ", 1) for line in MAILS.splitlines()[1:]]
        (work / "mails.txt").write_text(
            "".join(f"__label__{line}\n" for line in lines), encoding="utf-8"
        )
        (work / "texts.json").write_text('["You have won"]', encoding="utf-8")
        for _ in range(repeats):
            for name, command in tasks.items():
                if "train" in command:
                    shutil.rmtree(work / "spam", ignore_errors=True)
                run = run_worker(
                    "command", json.dumps([sys.executable, *command]), work / "texts.json", work
                )
                seconds[name].append(run["start s"])
                memory[name].append(run["memory MiB"])
                print(f"{name}: {seconds[name][-1]:.2f} s, {memory[name][-1]:.0f} MiB", flush=True)
    medians = {
        name: [statistics.median(seconds[name]), statistics.median(memory[name])] for name in tasks
    }
    return {"seconds": seconds, "MiB": memory, "medians": medians}


def markdown(result: dict[str, Any]) -> str:
    """Return the table: a row per task."""
    rows = (
        (name, f"{seconds:.2f}", f"{peak:.0f}")
        for name, (seconds, peak) in result.get("medians", {}).items()
    )
    return table(("in a new process", "s", "MiB"), rows)


TABLES = {"first minute": markdown}
