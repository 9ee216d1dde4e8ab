"""The files of the package of which a function runs: ``python -m tests.files_that_run fit``, or another task.

A reader who follows the task opens these files. Bodies of modules and classes, which run when they are imported, do not
count.
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import io
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import sklearn_hashnlp

PACKAGE = Path(sklearn_hashnlp.__file__).parent
TEXTS = ["a fine, funny film", "dull and far too long", "funny and fine acting", "too dull to sit through", "warm"] * 2
LABELS = ["good", "bad", "good", "bad", "good"] * 2


@contextmanager
def recorded() -> Iterator[set[str]]:
    """Collect the names of the files, in all threads that start here."""
    names: set[str] = set()

    def record(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        is_function = code.co_flags & inspect.CO_OPTIMIZED  # bodies of modules and classes are not
        if event == "call" and is_function:
            path = Path(code.co_filename)
            if path.is_relative_to(PACKAGE):
                names.add(str(path.relative_to(PACKAGE)))

    threading.setprofile(record)
    sys.setprofile(record)
    try:
        yield names
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]


def fit() -> set[str]:
    """Return the files of ``TextClassifier().fit`` on ten texts."""
    from sklearn_hashnlp import TextClassifier

    with recorded() as names:
        TextClassifier(random_state=0).fit(TEXTS, LABELS)
    return names


def encode() -> set[str]:
    """Return the files of ``SGNNSentenceEncoder().fit`` on twelve paragraphs."""
    from sklearn_hashnlp import SGNNSentenceEncoder

    with recorded() as names:
        SGNNSentenceEncoder(random_state=0).fit(["The cat sleeps. It purrs.", "Shares fell. They rose again."] * 6)
    return names


def predict() -> set[str]:
    """Return the files of ``hashnlp predict`` with such a model."""
    from sklearn_hashnlp import TextClassifier, save_model
    from sklearn_hashnlp.cli import main

    with tempfile.TemporaryDirectory() as folder:
        save_model(TextClassifier(random_state=0).fit(TEXTS, LABELS), folder)
        arguments, stdin, output = sys.argv, sys.stdin, io.StringIO()
        sys.argv = ["hashnlp", "predict", "--model", folder]
        sys.stdin = io.TextIOWrapper(io.BytesIO(b"a fine film\n"), encoding="utf-8")
        try:
            with recorded() as names, contextlib.redirect_stdout(output), contextlib.suppress(SystemExit):
                main()
        finally:
            sys.argv, sys.stdin = arguments, stdin
    assert output.getvalue() == "good\n", output.getvalue()
    return names


def lm() -> set[str]:
    """Return the files of ``HsigmoidLanguageModel().fit`` on ten sentences."""
    from sklearn_hashnlp import HsigmoidLanguageModel

    model = HsigmoidLanguageModel(order=3, embedding_dim=4, hidden_size=8, random_state=0)
    model.fit(TEXTS)  # imports and compiles, which would count
    with recorded() as names:
        model.fit(TEXTS)
    return names


TASKS: dict[str, Callable[[], set[str]]] = {"fit": fit, "predict": predict, "lm": lm, "encode": encode}


def main() -> None:
    """Print the files, and their number."""
    parser = argparse.ArgumentParser(prog="python -m tests.files_that_run", description=__doc__)
    parser.add_argument("tasks", nargs="*", choices=[*TASKS, []], help="default: all")
    for task in parser.parse_args().tasks or TASKS:
        names = TASKS[task]()
        print(*sorted(names), f"{task}: {len(names)} files", sep="\n")


if __name__ == "__main__":
    main()
