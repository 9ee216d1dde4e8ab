"""fastText 0.9.2 and packages that read its files: how each is installed, and its fastest calls.

Processes that serve a model import this module; it imports nothing that such a process lacks.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import re
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from benchmarks.common.latencies import latencies
from benchmarks.common.peer_packages import Peer

FASTTEXT = "fastText"
PEERS = {
    FASTTEXT: Peer("fasttext", "fasttext-wheel", ("pybind11",)),
    "fasttext-new": Peer("fasttext_new", "fasttext-new"),  # in Rust
    "fasttext-turbo": Peer("fasttext", "fasttext-turbo"),
    "fasttext-community": Peer("fasttext", "fasttext-community"),
}
HEIRS = tuple(name for name in PEERS if name != FASTTEXT)
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
ATTEMPTS = 3
_M_MMAP_THRESHOLD = -3  # in malloc.h


def lines_of(texts: Iterable[str], form: str) -> list[str]:
    """Return a line per text in one of ``FORMS``: tokens separated by spaces, and a newline."""
    return [" ".join(FORMS[form](text)) + "\n" for text in texts]


class FastText:
    """A package of ``PEERS`` and the model that it trained or loaded last.

    It predicts by the functions inside ``predict``, which itself takes longer and fails in 0.9.2
    with numpy 2. fasttext-new has a function for many lines on all processors, and ends lines
    itself.
    """

    def __init__(self, module: str, folder: str) -> None:
        # The packages in C++ leave most of a matrix as they get it: zeros of fresh memory, but of
        # freed memory, whose reuse for large blocks this forbids, numbers that end in a NaN.
        with contextlib.suppress(AttributeError, OSError, TypeError):  # not on Linux
            ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, 2**17)
        sys.path.insert(0, folder)  # rather than the environment, which provides numpy
        self._module: Any = importlib.import_module(module)
        self._model: Any = None
        self._lines: list[str] = []

    def train(self, path: str, setting: dict[str, Any], seed: int, threads: int) -> float:
        """Train on a written file, again if a NaN stops the training; return the seconds."""
        parameters = {key: value for key, value in setting.items() if key != "form"}
        self._model = None  # two models need twice the memory
        for attempt in range(ATTEMPTS):
            start = time.perf_counter()
            try:
                self._model = self._module.train_supervised(
                    path, seed=seed, thread=threads, verbose=0, **parameters
                )
            except RuntimeError as error:
                if "NaN" not in str(error) or attempt == ATTEMPTS - 1:
                    raise
            else:
                return time.perf_counter() - start
        raise AssertionError

    def quantize(self, path: str, setting: dict[str, Any], threads: int) -> None:
        """Quantize the model, which may train again on a written file."""
        self._model.quantize(path, thread=threads, verbose=0, **setting)

    def load(self, path: str) -> None:
        """Load a file of any of the packages."""
        self._model = None
        self._model = self._module.load_model(path)

    def save(self, path: str) -> float:
        """Write the model; return the size of the file in MB."""
        self._model.save_model(path)
        return Path(path).stat().st_size / 1e6

    def own_accuracy(self, path: str) -> float:
        """Return the package's own precision on a written file, in percent."""
        return 100 * float(self._model.test(path)[1])

    def hold(self, lines: list[str]) -> None:
        """Hold lines of :func:`lines_of`, which are not handed over with each call."""
        self._lines = lines if self._ends_with_newline else [line[:-1] for line in lines]

    def labels(self) -> list[list[str]]:
        """Return the most probable label of each held line, from one call."""
        if self._ends_with_newline:
            labels: list[list[str]] = self._model.f.multilinePredict(self._lines, 1, 0.0, "strict")[
                0
            ]
        else:
            labels = self._model.f.predict_batch(self._lines, 1, 0.0, None, "strict")[0]
        return labels

    def seconds(self) -> tuple[float, float]:
        """Predict the held lines; return the seconds, and the processor seconds."""
        start, processor_start = time.perf_counter(), time.process_time()
        self.labels()
        return time.perf_counter() - start, time.process_time() - processor_start

    def predict_text(self, form: str) -> Callable[[str], Any]:
        """Return the fastest function from a text to its label."""
        predict, tokens = self._model.f.predict, FORMS[form]
        end = "\n" if self._ends_with_newline else ""
        return lambda text: predict(" ".join(tokens(text)) + end, 1, 0.0, "strict")

    def latencies(self, texts: list[str], form: str) -> list[float]:
        """Return the milliseconds of each text, with its tokenization."""
        return latencies(self.predict_text(form), texts)

    def probabilities(self) -> list[dict[str, float]]:
        """Return the probabilities of the labels of each held line.

        The lines are predicted one at a time: fastText mixes up the labels of several lines.
        """
        found = [self._model.f.predict(line, -1, 0.0, "strict") for line in self._lines]
        if self._ends_with_newline:
            return [{label: probability for probability, label in pairs} for pairs in found]
        return [dict(zip(labels, map(float, values), strict=True)) for labels, values in found]

    @property
    def _ends_with_newline(self) -> bool:
        return hasattr(self._model.f, "multilinePredict")
