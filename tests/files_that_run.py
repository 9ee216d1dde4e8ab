"""How many files of the package a call runs: ``python -m tests.files_that_run``, or with
``--files`` which ones.

A file counts if one of its functions is called, in the calling thread or in one that starts
meanwhile; functions of the kernels do not count. Each call is made once before, so that no import
counts.
"""

from __future__ import annotations

import argparse
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import sklearn_hashnlp
from sklearn_hashnlp import HsigmoidLanguageModel, SGNNSentenceEncoder, TextClassifier
from sklearn_hashnlp.datasets import load_stdlib_docstrings

PACKAGE = Path(sklearn_hashnlp.__file__).parent
_N_TEXTS = 300


def files_that_run(call: Callable[[], Any]) -> Counter[str]:
    """Return the files of the package whose functions a call runs, with the number of calls of
    these functions.
    """
    files: Counter[str] = Counter()
    folder = f"{PACKAGE}/"

    def count(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(folder):
            files[frame.f_code.co_filename.removeprefix(folder)] += 1

    call()
    before = sys.getprofile()
    threading.setprofile(count)
    sys.setprofile(count)
    try:
        call()
    finally:
        sys.setprofile(before)
        threading.setprofile(before)
    return files


def calls() -> dict[str, Callable[[], Any]]:
    """Return the calls that are counted, by their names."""
    texts, labels = load_stdlib_docstrings(return_X_y=True)
    texts, labels = texts[:_N_TEXTS], labels[:_N_TEXTS]
    fitted = TextClassifier(random_state=0).fit(texts, labels)
    return {
        "TextClassifier.fit": lambda: TextClassifier(random_state=0).fit(texts, labels),
        "TextClassifier.predict": lambda: fitted.predict(texts),
        "HsigmoidLanguageModel.fit": lambda: HsigmoidLanguageModel(
            max_epochs=1, random_state=0
        ).fit(texts),
        "SGNNSentenceEncoder.fit": lambda: SGNNSentenceEncoder(max_epochs=1, random_state=0).fit(
            texts
        ),
    }


def main() -> None:
    """Print the number of files, and which they are if asked to."""
    parser = argparse.ArgumentParser(prog="python -m tests.files_that_run", description=__doc__)
    parser.add_argument(
        "--files", action="store_true", help="also print each file with the number of calls"
    )
    show_files = parser.parse_args().files
    for name, call in calls().items():
        files = files_that_run(call)
        print(f"{name:28} {len(files):>3}")
        for file, n_calls in sorted(files.items() if show_files else ()):
            print(f"    {file:58} {n_calls:>8,}")


if __name__ == "__main__":
    main()
