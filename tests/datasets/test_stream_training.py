"""Training on a stream of files in constant memory, in time that grows with the number of
documents.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sklearn_hashnlp import TextClassifier
from sklearn_hashnlp.datasets import load_stdlib_docstrings, stream_labelled

ROOT = Path(__file__).parents[2]
N_FILES = 100
N_PER_FILE = 100_000
N_WORDS = 10
SPARE = 300 * 2**20  # bytes that the process may take beyond those after its first file


def write_sentences(path: Path) -> list[str]:
    """Write labeled sentences of ten words; return the labels."""
    rows = []
    for text, label in zip(*load_stdlib_docstrings(return_X_y=True), strict=True):
        words = "".join(character if character.isalnum() else " " for character in text).split()
        starts = range(0, len(words) - N_WORDS + 1, N_WORDS)
        rows += [f"{label},{' '.join(words[start : start + N_WORDS])}" for start in starts]
    # in no order of labels
    lines = [rows[number * 7919 % len(rows)] for number in range(N_PER_FILE)]
    path.write_text("\n".join(["label,text", *lines, ""]), encoding="utf-8")
    return sorted({row.partition(",")[0] for row in rows})


def train(path: Path) -> None:
    """Read a file again and again, with limited memory from the second time on; print figures as
    JSON.
    """
    classes = write_sentences(path)
    model = TextClassifier(random_state=0, n_jobs=1).partial_fit(
        ["a b", "c d"], classes[:2], classes=classes
    )
    n_seen = 0
    seconds = []
    peaks = []
    started = time.process_time()
    for texts, labels in stream_labelled([path] * N_FILES):
        model.partial_fit(texts, labels)
        n_seen += len(texts)
        if n_seen % N_PER_FILE == 0:
            seconds.append(time.process_time() - started)
            peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
            started = time.process_time()
        if n_seen == N_PER_FILE:
            n_pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
            limit = n_pages * resource.getpagesize() + SPARE
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    tenth, losses = N_FILES // 10, [model.history_[index]["train_loss"] for index in (1, -1)]
    figures = {"documents": n_seen, "peak MB": [peaks[tenth - 1], peaks[-1]], "losses": losses}
    print(
        json.dumps(figures | {"seconds of tenths": [sum(seconds[:tenth]), sum(seconds[-tenth:])]})
    )


@pytest.mark.slow  # a quarter of an hour
@pytest.mark.skipif(sys.platform != "linux", reason="limits and measures memory")
def test_ten_million_documents_in_bounded_memory(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "tests.datasets.test_stream_training",
        str(tmp_path / "sentences.csv"),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    print(done.stdout)
    figures = json.loads(done.stdout)
    assert figures["documents"] == 10_000_000
    first, last = figures["peak MB"]
    assert last <= first + 64
    first, last = figures["seconds of tenths"]
    assert last <= 1.5 * first
    assert figures["losses"][1] < figures["losses"][0]


if __name__ == "__main__":
    train(Path(sys.argv[1]))
