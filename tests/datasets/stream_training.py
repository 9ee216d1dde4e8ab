"""Train on a stream of short documents in bounded memory; a program that prints figures as JSON.

    python -m tests.datasets.stream_training --documents 10_000_000 FOLDER

A file of 100,000 real sentences is read again and again, as if it were many files.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from sklearn_hashnlp import TextClassifier
from sklearn_hashnlp.datasets import load_stdlib_docstrings, stream_labelled

N_PER_FILE = 100_000
N_WORDS = 10
_SPARE = 300 * 2**20  # bytes that the process may take beyond those after its first batches


def main() -> None:
    """Train, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=10_000_000)
    parser.add_argument("--seconds", type=float, default=math.inf, help="processor time after which it stops")
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    classes = write_sentences(options.folder / "sentences.csv")
    print(json.dumps(train(options.folder / "sentences.csv", classes, options.documents, options.seconds)))


def write_sentences(path: Path) -> list[str]:
    """Write labeled sentences of ten words; return the labels."""
    texts, labels = load_stdlib_docstrings(return_X_y=True)
    rows = chain.from_iterable(_sentences(text, label) for text, label in zip(texts, labels.tolist(), strict=True))
    lines = [f"{label},{sentence}\n" for label, sentence in rows]
    with path.open("w", encoding="utf-8") as file:
        file.write("label,text\n")
        for number in range(N_PER_FILE):
            file.write(lines[number * 7919 % len(lines)])  # in no order of labels
    return sorted(set(labels.tolist()))


def _sentences(text: str, label: str) -> Iterator[tuple[str, str]]:
    words = "".join(character if character.isalnum() else " " for character in text).split()
    for start in range(0, len(words) - N_WORDS + 1, N_WORDS):
        yield label, " ".join(words[start : start + N_WORDS])


def train(path: Path, classes: list[str], n_documents: int, max_seconds: float = math.inf) -> dict[str, Any]:
    """Train on so many documents; memory is limited once the first file is read."""
    model = TextClassifier(random_state=0, n_jobs=1)
    model.partial_fit(["a b", "c d"], classes[:2], classes=classes)
    n_files = n_documents // N_PER_FILE
    seen, seconds, peaks = 0, [], []
    started = time.process_time()
    for texts, labels in stream_labelled([path] * n_files):
        model.partial_fit(texts, labels)
        seen += len(texts)
        if seen % N_PER_FILE == 0:
            seconds.append(time.process_time() - started)
            peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
            started = time.process_time()
            if sum(seconds) > max_seconds:
                break
            if len(seconds) == 1:
                limit = _address_space() + _SPARE
                resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    tenth = max(len(seconds) // 10, 1)
    return {
        "documents": seen,
        "seconds": round(sum(seconds), 1),
        "seconds_of_first_tenth": round(sum(seconds[:tenth]), 2),
        "seconds_of_last_tenth": round(sum(seconds[-tenth:]), 2),
        "peak_mb_after_first_tenth": round(peaks[tenth - 1]),
        "peak_mb": round(peaks[-1]),
        "train_loss": [round(model.history_[index]["train_loss"], 4) for index in (1, -1)],
    }


def _address_space() -> int:
    n_pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    return n_pages * resource.getpagesize()


if __name__ == "__main__":
    main()
