"""fastText as the peer: installed for a benchmark alone, trained on the same tokens, asked in its fastest way."""

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

# The words of make_text_classifier: a punctuation mark is one too.
TOKENS = re.compile(r"\w+|[^\w\s]")
PUBLISHED = {"dim": 10, "wordNgrams": 2, "minCount": 1, "bucket": 10_000_000}
SMALLER = PUBLISHED | {"bucket": 2_000_000}
GRID = [{"lr": lr, "epoch": epoch} for lr in (0.05, 0.1, 0.25, 0.5, 1.0) for epoch in (3, 5, 10, 20)]


@contextlib.contextmanager
def fasttext_folder(folder: Path | None) -> Iterator[Path]:
    """Give a folder with fastText in it: this one, where it is installed if it is not yet, or one that then goes."""
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


def tokenised(texts: Iterable[str]) -> list[str]:
    """Give a line for each text: its tokens in lower case, a blank between two, and the end that fastText wants."""
    return [" ".join(TOKENS.findall(text.lower())) + "\n" for text in texts]


def write_rows(path: Path, lines: Sequence[str], labels: Sequence[str], names: Sequence[str]) -> None:
    """Write fastText's format, in a random order, since fastText trains in the order of the file and files go by label.

    Labels become their places in ``names``, since they may hold blanks.
    """
    number = {name: i for i, name in enumerate(names)}
    rows = [f"__label__{number[label]} {line}" for line, label in zip(lines, labels, strict=True)]
    random.Random(0).shuffle(rows)
    path.write_text("".join(rows), encoding="utf-8")


def train(fasttext: Any, path: Path, setting: dict[str, Any], seed: int, threads: int) -> tuple[Any, float]:
    """Train on a file that :func:`write_rows` wrote; give the model and the seconds of fastText's own call."""
    start = time.perf_counter()
    model = fasttext.train_supervised(str(path), seed=seed, thread=threads, verbose=0, **setting)
    return model, time.perf_counter() - start


def predict(model: Any, lines: list[str]) -> list[list[str]]:
    """Give the most probable label of each line, as a list that is empty where fastText gives none.

    This is the compiled function inside ``model.predict``, which itself cannot be called with numpy 2: it asks for an
    array without a copy where there is none to be had.
    """
    labels: list[list[str]] = model.f.multilinePredict(lines, 1, 0.0, "strict")[0]
    return labels


def accuracy(model: Any, lines: list[str], labels: Sequence[str], names: Sequence[str]) -> float:
    """Give the share of right labels, in percent, of all rows: fastText's own count leaves out unknown labels."""
    number = {name: f"__label__{i}" for i, name in enumerate(names)}
    found = predict(model, lines)
    right = sum(number.get(label) in one for one, label in zip(found, labels, strict=True))
    return 100 * right / len(lines)


def choose(
    fasttext: Any,
    rows: tuple[Rows, Rows],
    fixed: dict[str, Any],
    threads: int,
    progress: Callable[[str], None],
) -> list[dict[str, Any]]:
    """Try each learning rate and number of epochs on rows to train on and rows to judge by.

    Returns
    -------
    list of dict
        The settings of ``GRID``, each with its accuracy, the best first; of equal ones the one with fewer epochs.
    """
    fitted, judged = rows
    names = sorted(set(fitted.labels))
    lines = tokenised(judged.texts)
    tried = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.txt"
        write_rows(path, tokenised(fitted.texts), fitted.labels, names)
        for place, setting in enumerate(GRID, start=1):
            try:
                model, seconds = train(fasttext, path, fixed | setting, 0, threads)
                reached = accuracy(model, lines, judged.labels, names)
            except RuntimeError as error:  # fastText's way to say that training diverged
                if "NaN" not in str(error):
                    raise
                reached, seconds = 0.0, 0.0
            tried.append(setting | {"accuracy": reached, "seconds": seconds})
            progress(f"{place}/{len(GRID)}: {setting} {reached:.2f} % in {seconds:.1f} s")
    return sorted(tried, key=lambda one: (-one["accuracy"], one["epoch"]))
