"""fastText as a baseline: installed for a benchmark, with its best texts and fastest calls."""

from __future__ import annotations

import random
import re
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from benchmarks.common.data import Rows
from benchmarks.common.peer_packages import Peer, import_peer, peer_folder, peer_version

FASTTEXT = Peer("fasttext", "fasttext-wheel", ("pybind11",))
# Its heirs, which read its files.
HEIRS = {
    "fasttext-new": Peer("fasttext_new", "fasttext-new"),
    "fasttext-turbo": Peer("fasttext", "fasttext-turbo"),
    "fasttext-community": Peer("fasttext", "fasttext-community"),
}
# The tokens of make_text_classifier: words and punctuation marks.
TOKENS = re.compile(r"\w+|[^\w\s]")
# Forms of the texts, of which fastText gets the best on validation rows.
RAW = "raw"
CASED = "tokens"
LOWERCASE = "lowercase tokens"
FORMS: dict[str, Callable[[str], list[str]]] = {
    RAW: str.split,
    CASED: TOKENS.findall,
    LOWERCASE: lambda text: TOKENS.findall(text.lower()),
}
PUBLISHED = {"dim": 10, "wordNgrams": 2, "minCount": 1, "bucket": 10_000_000}
SMALLER = PUBLISHED | {"bucket": 2_000_000}
GRID = [
    {"lr": lr, "epoch": epoch} for lr in (0.05, 0.1, 0.25, 0.5, 1.0) for epoch in (3, 5, 10, 20)
]
CHOSEN = ("form", "lr", "epoch")  # what `choose` chooses
ATTEMPTS = 3
FEW_ROWS, SEEDS_FOR_FEW = 10_000, 3  # on few rows one seed is too noisy to choose by


def fasttext_folder(folder: Path | None) -> AbstractContextManager[Path]:
    """Return a folder with fastText, installing it if necessary; None makes a temporary one."""
    return peer_folder(FASTTEXT, folder)


def import_fasttext(folder: Path) -> Any:
    return import_peer(FASTTEXT, folder)


def fasttext_version(folder: Path) -> str:
    return peer_version(FASTTEXT, folder)


def lines_of(texts: Iterable[str], form: str) -> list[str]:
    """Return a line per text in one of ``FORMS``: tokens separated by spaces, and a newline."""
    return [" ".join(FORMS[form](text)) + "\n" for text in texts]


def write_rows(
    path: Path, lines: Sequence[str], labels: Sequence[str], names: Sequence[str]
) -> None:
    """Write shuffled rows in fastText's format; labels become their indices in ``names``."""
    index_of = {name: i for i, name in enumerate(names)}
    rows = [f"__label__{index_of[label]} {line}" for line, label in zip(lines, labels, strict=True)]
    random.Random(0).shuffle(rows)
    path.write_text("".join(rows), encoding="utf-8")


def train(
    fasttext: Any, path: Path, setting: dict[str, Any], seed: int, threads: int
) -> tuple[Any, float]:
    """Train on a written file, again if a NaN stops fastText; return the model and the seconds."""
    parameters = {key: value for key, value in setting.items() if key != "form"}
    for attempt in range(ATTEMPTS):
        start = time.perf_counter()
        try:
            model = fasttext.train_supervised(
                str(path), seed=seed, thread=threads, verbose=0, **parameters
            )
        except RuntimeError as error:
            if "NaN" not in str(error) or attempt == ATTEMPTS - 1:
                raise
        else:
            return model, time.perf_counter() - start
    raise AssertionError


def predict(model: Any, lines: list[str]) -> list[list[str]]:
    """Return labels by the function inside ``model.predict``, which itself fails with numpy 2."""
    labels: list[list[str]] = model.f.multilinePredict(lines, 1, 0.0, "strict")[0]
    return labels


def accuracy(model: Any, lines: list[str], labels: Sequence[str], names: Sequence[str]) -> float:
    """Return the accuracy in percent over all rows; fastText's count omits unknown labels."""
    index_of = {name: f"__label__{i}" for i, name in enumerate(names)}
    measured = predict(model, lines)
    correct = sum(index_of.get(label) in one for one, label in zip(measured, labels, strict=True))
    return 100 * correct / len(lines)


def choose(
    fasttext: Any,
    rows: tuple[Rows, Rows],
    fixed: dict[str, Any],
    threads: int,
    progress: Callable[[str], None],
) -> list[dict[str, Any]]:
    """Evaluate forms of the texts, learning rates and epochs; the best, of few epochs, is first."""
    train_rows, valid_rows = rows
    names = sorted(set(train_rows.labels))
    seeds = SEEDS_FOR_FEW if len(train_rows.texts) < FEW_ROWS else 1
    trials: list[dict[str, Any]] = []
    evaluated: list[list[str]] = []
    for form in FORMS:
        train_lines, lines = lines_of(train_rows.texts, form), lines_of(valid_rows.texts, form)
        if train_lines in evaluated:
            continue
        evaluated.append(train_lines)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "train.txt"
            write_rows(path, train_lines, train_rows.labels, names)
            for number, setting in enumerate(GRID, start=1):
                runs = [
                    _evaluate(
                        fasttext,
                        path,
                        fixed | setting,
                        seed,
                        threads,
                        lines,
                        valid_rows.labels,
                        names,
                    )
                    for seed in range(seeds)
                ]
                score, seconds = (statistics.mean(values) for values in zip(*runs, strict=True))
                trials.append({"form": form} | setting | {"accuracy": score, "seconds": seconds})
                progress(
                    f"{form}, {number}/{len(GRID)}: {setting} {score:.2f} % in {seconds:.1f} s"
                )
    return sorted(trials, key=lambda one: (-one["accuracy"], one["epoch"]))


def _evaluate(
    fasttext: Any,
    path: Path,
    setting: dict[str, Any],
    seed: int,
    threads: int,
    lines: list[str],
    labels: Sequence[str],
    names: Sequence[str],
) -> tuple[float, float]:
    try:
        model, seconds = train(fasttext, path, setting, seed, threads)
        return accuracy(model, lines, labels, names), seconds
    except RuntimeError as error:  # fastText's error when training diverges
        if "NaN" not in str(error):
            raise
        return 0.0, 0.0


def best(trials: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what :func:`choose` chose."""
    return {key: trials[0][key] for key in CHOSEN}
