"""Default language models on texts of any size, beside the frequencies of words and Kneser-Ney.

Of each text, cut to its first sentences, the default HsigmoidLanguageModel with each output is trained once. Perplexity
is of held-out sentences, after the first epoch and at the end, and its bounds are:

- after one epoch at most that of the words' frequencies, each increased by one (add-one smoothing);
- at the end below a Kneser-Ney unigram model,
- with 3,000 sentences or more at most 5 % above a Kneser-Ney bigram model, and with 10,000 or more below it.

Words that occur once are <unk>, and all models of a text have the same words. "full softmax" stops at 20,000 sentences.
Each result is written when it is measured and skipped the next time (unless --again is given); at the end the table and
the cells that miss a bound are printed.

    python -m benchmarks run bench_language_robustness --data DIR
    python -m benchmarks run bench_language_robustness --data DIR --texts ptb --sizes 300 1000 --outputs tree adaptive
    python -m benchmarks run bench_language_robustness --data DIR --rows 50 --sizes 40   (a test run; writes no JSON)
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from benchmarks.common.data import DataFolder, add_data_options, data_folder, read_text
from benchmarks.common.results_file import add_output_option, environment, output_path, read_result, write_result
from benchmarks.tables.language_robustness_table import OUTPUTS, markdown, missed
from sklearn_hashnlp import HsigmoidLanguageModel
from sklearn_hashnlp.datasets import load_stdlib_docstrings
from sklearn_hashnlp.language import KneserNeyLanguageModel
from sklearn_hashnlp.text import split_sentences

RESULT = "language_robustness.json"
PACKAGES = ("sklearn-hashnlp", "numpy", "numba", "scikit-learn", "scipy", "skorch", "torch")
TEXTS = ("docstrings", "ptb", "brown", "swda", "characters")
SIZES = (100, 300, 500, 1000, 3000, 10_000, 10**9)  # sentences; the last is all of them
MAX_SOFTMAX = 20_000  # sentences: the time of the full softmax grows with the words, too
N_VALID = 1000
MODELS: dict[str, dict[str, Any]] = {
    "tree": {},
    "tree, direct": {"direct_connections": True},
    "tree, hashed": {"direct_connections": "hashed"},
    "softmax": {"output": "softmax"},
    "softmax, direct": {"output": "softmax", "direct_connections": True},
    "adaptive": {"output": "adaptive"},
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_data_options(parser)
    parser.add_argument("--texts", nargs="*", choices=TEXTS, default=list(TEXTS), help="default: all")
    parser.add_argument("--sizes", nargs="*", type=int, default=list(SIZES), help="sentences (default: %(default)s)")
    parser.add_argument("--outputs", nargs="*", choices=OUTPUTS, default=list(OUTPUTS), help="default: all")
    parser.add_argument("--again", action="store_true", help="measure again what the JSON already holds")
    add_output_option(parser, RESULT)
    options = parser.parse_args(arguments)
    data, path = data_folder(parser, options), output_path(options, RESULT)
    torch.set_num_threads(1)
    result = {"texts": read_result(path).get("texts", {})} | environment(*PACKAGES)
    for size in options.sizes:
        for text in options.texts:
            train, valid = read_sentences(text, data)
            n_sentences = min(size, len(train))
            cell = result["texts"].setdefault(text, {}).setdefault(str(n_sentences), {})
            if "counts" not in cell:
                cell["counts"] = measure_counts(train[:size], valid)
            for output in options.outputs:
                if (output in cell and not options.again) or (output.startswith("softmax") and size > MAX_SOFTMAX):
                    continue
                cell[output] = measure_network(output, train[:size], valid)
                print(f"{text}, {n_sentences} sentences, {output}: {cell[output]}", flush=True)
                write_result(path, result)
    print(markdown(result), *missed(result), sep="\n")


def read_sentences(name: str, data: DataFolder) -> tuple[list[str], list[str]]:
    """Read the sentences to train on and those to test with."""
    if name == "ptb":
        return read_text(data, "ptb", "train.txt"), read_text(data, "ptb", "valid.txt")[:N_VALID]
    if name == "characters":
        lines = (" ".join(line.strip().replace(" ", "_")) for line in read_text(data, "ptb", "train.txt"))
        sentences = [line for line in lines if line]
    elif name == "docstrings":
        docstrings = load_stdlib_docstrings().data
        sentences = [" ".join(each.lower().split()) for text in docstrings for each in split_sentences(text)]
    elif name == "brown":
        sentences = read_text(data, "brown", "paragraphs.txt")
    else:
        sentences = [text.lower() for text in data.train("swda").texts if text.strip()]
    order = np.random.default_rng(0).permutation(len(sentences))
    n_valid = min(N_VALID, len(sentences) // 10)
    valid = set(order[:n_valid].tolist())
    rest = [sentence for index, sentence in enumerate(sentences) if index not in valid]
    return rest, [sentences[index] for index in sorted(valid)]


def measure_counts(train: list[str], valid: list[str]) -> dict[str, float]:
    """Measure the perplexities of models that count."""
    unigram = KneserNeyLanguageModel(order=1, min_count=2).fit(train)
    bigram = KneserNeyLanguageModel(order=2, min_count=2).fit(train)
    words = unigram.vocabulary_
    counts = Counter(token for sentence in train for token in tokens(sentence, words))
    total = sum(counts.values()) + len(words) - 1  # <s> is never predicted
    log_probs = [np.log((counts[token] + 1) / total) for sentence in valid for token in tokens(sentence, words)]
    return {
        "windows": sum(counts.values()),
        "words": len(words) - 1,
        "add-one unigram": round(float(np.exp(-np.mean(log_probs))), 1),
        "Kneser-Ney unigram": round(unigram.perplexity(valid), 1),
        "Kneser-Ney bigram": round(bigram.perplexity(valid), 1),
    }


def tokens(sentence: str, words: dict[str, int]) -> list[str]:
    return [*(word if word in words else "<unk>" for word in sentence.split()), "</s>"]


def measure_network(output: str, train: list[str], valid: list[str]) -> dict[str, float]:
    """Train the default network and measure its perplexity after the first and after the last epoch."""
    begin = time.perf_counter()
    model = HsigmoidLanguageModel(**MODELS[output], min_count=2, random_state=0).fit(train, X_valid=valid)
    history = model.history_
    return {
        "after one epoch": round(history[0]["valid_perplexity"], 1),
        "at the end": round(history[-1]["valid_perplexity"], 1),
        "training sentences": round(history[-1]["train_perplexity"], 1),
        "seconds": round(time.perf_counter() - begin, 1),
    }
