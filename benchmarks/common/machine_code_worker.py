"""A process that trains and asks models in one thread: its processor seconds by task. The last line it prints is JSON.

Run as a script, with a file of texts and labels.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

REPEATS = 3  # of each task; the least counts


def seconds(task: Callable[[], Any]) -> float:
    """Return the processor seconds of a call."""
    started = time.process_time()
    task()
    return time.process_time() - started


def measure(texts: list[str], labels: list[str]) -> dict[str, float]:
    """Measure the start, up to the first small model, and the tasks."""
    import sklearn_hashnlp as hashnlp
    from sklearn_hashnlp.kernels._compile import compilations

    hashnlp.TextClassifier(random_state=0).fit(["good film", "bad film"] * 10, ["good", "bad"] * 10).predict(["good"])
    measured = {"start": time.process_time(), "compiled at start": compilations.n}
    vectorizer = hashnlp.HashingNgramVectorizer(ngram_range=(1, 2))
    counts = hashnlp.CharNgramFeaturizer().transform(texts[:2000])
    classifier = hashnlp.TextClassifier(n_jobs=1, random_state=0)
    by_gradients = hashnlp.TextClassifier(loss="softmax", max_epochs=2, n_jobs=1, random_state=0)
    tasks: dict[str, Callable[[], Any]] = {
        "vectorize": lambda: vectorizer.transform(texts),
        "fit": lambda: classifier.fit(texts, labels),
        "fit by gradients": lambda: by_gradients.fit(texts, labels),
        "predict": lambda: classifier.predict(texts),
        "project": lambda: hashnlp.SGNNProjector().transform(counts),
        "count": lambda: hashnlp.KneserNeyLanguageModel(order=3).fit(texts),
    }
    for task in tasks.values():
        task()  # compilation and loading are not measured
    return measured | {name: min(seconds(task) for _ in range(REPEATS)) for name, task in tasks.items()}


if __name__ == "__main__":
    rows = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    print(json.dumps(measure(rows["texts"], rows["labels"])))
