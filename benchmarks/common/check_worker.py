"""A process of the regression guard that measures its memory while it trains or transforms.

Run as ``-m benchmarks.common.check_worker transform|train FILE``, with a JSON file of texts and labels.
The last line is JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.common.memory import peak_mb, reset_peak, resident_mb
from sklearn_hashnlp import HashingNgramVectorizer, make_text_classifier


def main() -> None:
    task, file = sys.argv[1:]
    texts, labels = json.loads(Path(file).read_text(encoding="utf-8"))
    work = tasks(texts, labels)[task]
    work(slice(0, 200))  # imports, and kernels from their cache
    idle = resident_mb()
    reset_peak()
    kept = work(slice(None))
    print(json.dumps({"idle MiB": idle, "growth MiB": peak_mb() - idle, "rows": len(texts)}))
    del kept


def tasks(texts: list[str], labels: list[str]) -> dict[str, Callable[[slice], Any]]:
    return {
        "transform": lambda rows: HashingNgramVectorizer(ngram_range=(1, 2)).transform(texts[rows]),
        "train": lambda rows: make_text_classifier(random_state=0).fit(texts[rows], labels[rows]),
    }


if __name__ == "__main__":
    main()
