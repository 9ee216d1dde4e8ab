"""Perplexity, time and memory of Kneser-Ney language models: Penn Treebank, Brown and IMDB.

Three parts, each of which can be run alone (--part) and is added to the same JSON. Every model is
fitted in a new process, which holds the sentences and has loaded everything before timing; growth
is its peak memory minus the memory before.

ptb    Orders 1 to 6, and order 5 without rare n-grams; test perplexity on test.txt. (1 minute)
brown  Orders 2 to 5. The first 800,000 words train, the next 200,000 validate, and the rest test; a
       sentence belongs to the part that its first word is in. Words that occur three times or less
       in the training part are <unk>. (1 minute)
imdb   Order 5 on all 50,000 reviews, each a sentence, with all their words: time and memory. (2
       minutes)

    python -m benchmarks run bench_kneser_ney --data DIR
    python -m benchmarks run bench_kneser_ney --data DIR --part ptb --kenlm PYTHON

--kenlm names a Python that has the package kenlm: it scores test.txt with the ARPA file of order 5,
and the largest difference of a sentence's log10 probability is reported.

Perplexities count every word of a sentence and </s>; words outside the vocabulary are <unk>.
"""

from __future__ import annotations

import json
import math
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common.benchmark import BenchmarkParser, environment, read_result, write_result
from benchmarks.common.data import DataFolder, read_text
from benchmarks.common.memory import in_new_process, peak_mb, reset_peak, resident_mb
from sklearn_hashnlp import KneserNeyLanguageModel

RESULT = "kneser_ney.json"
PACKAGES = ("sklearn-hashnlp", "numpy", "scikit-learn")
BROWN_TRAIN, BROWN_VALID = 800_000, 200_000

MODELS: dict[str, dict[str, dict[str, Any]]] = {
    "ptb": {f"order {order}": {"order": order} for order in range(1, 7)}
    | {
        f"order 5, min_ngram_counts={counts}": {"order": 5, "min_ngram_counts": counts}
        for counts in ((1, 1, 2), (1, 1, 1, 2), (1, 1, 1, 1, 2))
    },
    "brown": {f"order {order}": {"order": order, "min_count": 4} for order in range(2, 6)},
    "imdb": {"order 5": {"order": 5}},
}

# Scores of sentences on stdin as log10 probabilities, by the package kenlm.
KENLM = """
import json, sys, kenlm
model = kenlm.Model(sys.argv[1])
print(json.dumps([model.score(line.rstrip("\\n")) for line in sys.stdin]))
"""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = BenchmarkParser(__doc__, RESULT, "ptb/, brown/ and imdb/")
    parser.add_choices("--part", MODELS)
    parser.add_argument(
        "--kenlm", metavar="PYTHON", help="a Python that has kenlm, to compare with (default: none)"
    )
    options, data, path = parser.read(arguments)
    result = read_result(path)
    for part in options.part:
        models = {}
        for name in MODELS[part]:
            models[name] = in_new_process(measure, data, part, name, options.kenlm)
            print(f"{part}, {name}: {models[name]}", flush=True)
        result[part] = environment(*PACKAGES) | {"models": models}
        write_result(path, result)


def measure(data: DataFolder, part: str, name: str, kenlm: str | None) -> dict[str, Any]:
    settings = MODELS[part][name]
    texts = {"ptb": read_ptb, "brown": read_brown, "imdb": read_imdb}[part](data)
    train = texts["train"]
    warm = KneserNeyLanguageModel(order=2).fit(train[:20])  # loads everything used
    warm.perplexity(train[:20]), warm.predict_topk(["a"], 1)
    reset_peak()
    idle, start = resident_mb(), time.perf_counter()
    model = KneserNeyLanguageModel(**settings).fit(train)
    seconds, growth = time.perf_counter() - start, peak_mb() - idle
    n_tokens = sum(len(sentence.split()) + 1 for sentence in train)
    measured: dict[str, Any] = {
        "parameters": settings,
        "tokens": n_tokens,
        "words": len(model.vocabulary_),
        "n-grams": model.n_ngrams_,
        "discounts": model.discounts_.round(4).tolist(),
        "fit s": seconds,
        "growth MiB": growth,
        "model MiB": sum(array.nbytes for array in model._trie) / 2**20,
    }
    for file in ("valid", "test"):
        if file in texts:
            start = time.perf_counter()
            measured[f"{file} perplexity"] = model.perplexity(texts[file])
            measured[f"{file} s"] = time.perf_counter() - start
    if part == "imdb":
        reset_peak()
        idle, start = resident_mb(), time.perf_counter()
        model.predict_topk([" ".join(text.split()[:20]) for text in train[:100]], 5)
        measured |= {
            "topk of 100 contexts s": time.perf_counter() - start,
            "topk growth MiB": peak_mb() - idle,
        }
    if kenlm is not None and settings == {"order": 5} and "test" in texts:
        measured["largest difference to kenlm"] = compare_with_kenlm(model, texts["test"], kenlm)
    return measured


def compare_with_kenlm(model: KneserNeyLanguageModel, sentences: list[str], python: str) -> float:
    """Return the largest difference of log10 probabilities of sentences."""
    with tempfile.TemporaryDirectory() as folder:
        model.save_arpa(Path(folder, "model.arpa"))
        command = [python, "-c", KENLM, str(Path(folder, "model.arpa"))]
        done = subprocess.run(
            command, input="\n".join(sentences), capture_output=True, text=True, check=True
        )
    scores = np.array(json.loads(done.stdout))
    return float(np.abs(scores - model.score_samples(sentences) / math.log(10)).max())


def read_ptb(data: DataFolder) -> dict[str, list[str]]:
    return {file: read_text(data, "ptb", f"{file}.txt") for file in ("train", "valid", "test")}


def read_brown(data: DataFolder) -> dict[str, list[str]]:
    sentences = read_text(data, "brown", "paragraphs.txt")
    lengths = np.array([len(sentence.split()) for sentence in sentences])
    starts = np.cumsum(lengths) - lengths
    n_train, n_valid = np.searchsorted(starts, (BROWN_TRAIN, BROWN_TRAIN + BROWN_VALID)).tolist()
    if data.rows is not None:
        n_train, n_valid = data.rows // 2, data.rows * 3 // 4
    return {
        "train": sentences[:n_train],
        "valid": sentences[n_train:n_valid],
        "test": sentences[n_valid:],
    }


def read_imdb(data: DataFolder) -> dict[str, list[str]]:
    return {"train": [*data.read("imdb", "train.csv").texts, *data.read("imdb", "test.csv").texts]}
