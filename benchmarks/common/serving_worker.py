"""A process that serves one model: its start, many texts, single texts, and eight threads at once.

Run as ``python -m``, with a kind of model, its path and a file of texts; it imports only the
modules that the model needs. The last line of its output is JSON.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.common.latencies import SINGLE, latencies, seconds_of

THREADS = 8
MANY = 2  # seconds in which all texts are predicted again and again


Predict = Callable[[str], Any]


def load(kind: str, where: str) -> tuple[Predict, Callable[[list[str]], Callable[[], Any]]]:
    """Load a model; return functions that predict one text and prepare the prediction of many."""
    if kind == "fasttext":
        return load_fasttext(*where.split("|"))
    if kind == "exported":
        sys.path.insert(0, str(Path(where).parent))
        predict = __import__(Path(where).stem).predict
    elif kind == "folder":
        from sklearn_hashnlp import load_model

        predict = load_model(where).predict
    elif kind == "fitted":
        from sklearn_hashnlp import TextClassifier

        texts, labels, parameters = json.loads(Path(where).read_text(encoding="utf-8"))
        predict = TextClassifier(**parameters).fit(texts, labels).predict
    else:
        import joblib

        predict = joblib.load(where).predict
    return lambda text: predict([text])[0], lambda texts: lambda: predict(texts)


def load_fasttext(
    package: str, module: str, file: str
) -> tuple[Predict, Callable[[list[str]], Callable[[], Any]]]:
    """Load a model of fastText or an heir with its fastest functions; batches are pretokenized."""
    from benchmarks.common.fasttext_peers import LOWERCASE, FastText, lines_of

    model = FastText(module, package)
    model.load(file)

    def prepare(texts: list[str]) -> Callable[[], Any]:
        model.hold(lines_of(texts, LOWERCASE))
        return model.labels

    return model.predict_text(LOWERCASE), prepare


def serve(kind: str, path: str, texts: list[str]) -> dict[str, Any]:
    """Measure the start of this process, and its answers."""
    predict, prepare = load(kind, path)
    predict(texts[0])
    measured: dict[str, Any] = {"start s": time.process_time(), "memory MiB": peak_mb()}
    many = prepare(texts)
    many()
    repeats = [seconds_of(many)]
    while sum(repeats) < MANY:
        repeats.append(seconds_of(many))
    measured["many texts/s"] = len(texts) / statistics.median(repeats)
    texts = texts[:SINGLE]
    for text in texts[:50]:
        predict(text)
    measured["single ms"] = statistics.median(alone := latencies(predict, texts))
    measured["single p99 ms"] = percentile(alone, 99)
    answers: list[list[float]] = []
    some = texts[: max(len(texts) // 4, 1)]
    threads = [
        threading.Thread(target=lambda: answers.append(latencies(predict, some)))
        for _ in range(THREADS)
    ]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - start
    together = [milliseconds for answer in answers for milliseconds in answer]
    measured["threads ms"] = statistics.median(together)
    measured["threads p99 ms"] = percentile(together, 99)
    measured["threads texts/s"] = len(together) / seconds
    measured["single texts/s"] = 1000 * len(alone) / sum(alone)
    return measured


def run_command(command: list[str], text: str) -> dict[str, Any]:
    """Measure a command that predicts the label of one text."""
    subprocess.run(
        command,
        input=text.replace("\n", " ") + "\n",
        text=True,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {"start s": usage.ru_utime + usage.ru_stime, "memory MiB": usage.ru_maxrss / 1024}


def percentile(values: list[float], percent: float) -> float:
    return sorted(values)[min(int(len(values) * percent / 100), len(values) - 1)]


def peak_mb() -> float:
    """Return the peak resident memory of this process in MiB."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


if __name__ == "__main__":
    kind, path, file = sys.argv[1:]
    texts = json.loads(Path(file).read_text(encoding="utf-8"))
    print(
        json.dumps(
            run_command(json.loads(path), texts[0])
            if kind == "command"
            else serve(kind, path, texts)
        )
    )
