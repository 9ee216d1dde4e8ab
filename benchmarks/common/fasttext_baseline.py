"""fastText as a baseline: installed for a benchmark, trained on the same tokens, called in its fastest way."""

from __future__ import annotations

import contextlib
import importlib
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from .data import Rows

# The tokens of make_text_classifier: words and punctuation marks.
TOKENS = re.compile(r"\w+|[^\w\s]")
PUBLISHED = {"dim": 10, "wordNgrams": 2, "minCount": 1, "bucket": 10_000_000}
SMALLER = PUBLISHED | {"bucket": 2_000_000}
GRID = [{"lr": lr, "epoch": epoch} for lr in (0.05, 0.1, 0.25, 0.5, 1.0) for epoch in (3, 5, 10, 20)]


@contextlib.contextmanager
def fasttext_folder(folder: Path | None) -> Iterator[Path]:
    """Return a folder that holds fastText, installing it if necessary; None makes a temporary one."""
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="fasttext-") as made:
            _install(Path(made))
            yield Path(made)
        return
    if not (folder / "fasttext").is_dir():
        _install(folder)
    yield folder


def _install(folder: Path) -> None:
    print(f"Installing fastText into {folder} ...", flush=True)
    options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--target", str(folder)]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, "fasttext-wheel", "pybind11"], check=True)


def import_fasttext(folder: Path) -> Any:
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
    return importlib.import_module("fasttext")


def fasttext_version(folder: Path) -> str:
    return (
        next(folder.glob("fasttext_wheel-*.dist-info")).name.removeprefix("fasttext_wheel-").removesuffix(".dist-info")
    )


def tokenize_texts(texts: Iterable[str]) -> list[str]:
    """Return a line for each text: its lowercase tokens separated by spaces, and a newline."""
    return [" ".join(TOKENS.findall(text.lower())) + "\n" for text in texts]


def write_rows(path: Path, lines: Sequence[str], labels: Sequence[str], names: Sequence[str]) -> None:
    """Write rows in fastText's format, shuffled, since fastText does not shuffle and files are sorted by label.

    Labels become their indices in ``names``, since they may contain spaces.
    """
    index_of = {name: i for i, name in enumerate(names)}
    rows = [f"__label__{index_of[label]} {line}" for line, label in zip(lines, labels, strict=True)]
    random.Random(0).shuffle(rows)
    path.write_text("".join(rows), encoding="utf-8")


def train(fasttext: Any, path: Path, setting: dict[str, Any], seed: int, threads: int) -> tuple[Any, float]:
    """Train on a file that :func:`write_rows` wrote; return the model and the seconds of fastText's own call."""
    start = time.perf_counter()
    model = fasttext.train_supervised(str(path), seed=seed, thread=threads, verbose=0, **setting)
    return model, time.perf_counter() - start


def predict(model: Any, lines: list[str]) -> list[list[str]]:
    """Return the most probable label of each line, as a list that is empty where fastText predicts none.

    This is the compiled function inside ``model.predict``, which itself fails with numpy 2: it calls ``np.array`` with
    ``copy=False`` where a copy is needed.
    """
    labels: list[list[str]] = model.f.multilinePredict(lines, 1, 0.0, "strict")[0]
    return labels


def accuracy(model: Any, lines: list[str], labels: Sequence[str], names: Sequence[str]) -> float:
    """Return the accuracy in percent over all rows; fastText's own count leaves out unknown labels."""
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
    """Evaluate each learning rate and number of epochs on training and validation rows.

    Returns
    -------
    list of dict
        The settings of ``GRID``, each with its accuracy, the best first; ties are broken by fewer epochs.
    """
    train_rows, valid_rows = rows
    names = sorted(set(train_rows.labels))
    lines = tokenize_texts(valid_rows.texts)
    trials = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.txt"
        write_rows(path, tokenize_texts(train_rows.texts), train_rows.labels, names)
        for number, setting in enumerate(GRID, start=1):
            try:
                model, seconds = train(fasttext, path, fixed | setting, 0, threads)
                score = accuracy(model, lines, valid_rows.labels, names)
            except RuntimeError as error:  # fastText's error when training diverges
                if "NaN" not in str(error):
                    raise
                score, seconds = 0.0, 0.0
            trials.append(setting | {"accuracy": score, "seconds": seconds})
            progress(f"{number}/{len(GRID)}: {setting} {score:.2f} % in {seconds:.1f} s")
    return sorted(trials, key=lambda one: (-one["accuracy"], one["epoch"]))
