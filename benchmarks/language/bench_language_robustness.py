r"""Default language models on texts of any size, compared with word frequencies and Kneser-Ney.

Of each text, cut to its first sentences, the default HsigmoidLanguageModel with each output is
trained once. Perplexity is of held-out sentences, after the first epoch and at the end, and its
bounds are:

- after one epoch at most the perplexity of the words' frequencies, each increased by one (add-one
  smoothing);
- at the end below a Kneser-Ney unigram model,
- with 3,000 sentences or more at most 5 % above a Kneser-Ney bigram model, and with 10,000 or more
  below it.

Words that occur once are <unk>, and all models of a text have the same words. "full softmax" stops
at 20,000 sentences. Each result is written when it is measured and skipped the next time (unless
--again is given); at the end the table and the cells that miss a bound are printed.

    python -m benchmarks run bench_language_robustness --data DIR
    python -m benchmarks run bench_language_robustness --data DIR --texts ptb --sizes 300 1000 \
        --outputs tree adaptive
    # A test run; writes no JSON
    python -m benchmarks run bench_language_robustness --data DIR --rows 50 --sizes 40
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from benchmarks.common.benchmark import BenchmarkParser, environment, read_result, write_result
from benchmarks.common.data import DataFolder, read_text
from benchmarks.common.pages import table
from sklearn_hashnlp import HsigmoidLanguageModel
from sklearn_hashnlp.datasets import load_stdlib_docstrings
from sklearn_hashnlp.language import KneserNeyLanguageModel
from sklearn_hashnlp.text import split_sentences

RESULT = "language_robustness.json"
PAGE = "language_model.md"
OUTPUTS = ("tree", "tree, direct", "tree, hashed", "softmax", "softmax, direct", "adaptive")
_COUNTS = ("add-one unigram", "Kneser-Ney unigram", "Kneser-Ney bigram")
_NEAR_BIGRAM, _BELOW_BIGRAM = 3000, 10_000  # sentences from which on a bound holds
_TOLERANCE = 1.05
PACKAGES = ("sklearn-hashnlp", "numpy", "scikit-learn", "scipy", "skorch", "torch")
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
    parser = BenchmarkParser(__doc__, RESULT)
    parser.add_choices("--texts", TEXTS)
    parser.add_argument(
        "--sizes", nargs="*", type=int, default=list(SIZES), help="sentences (default: %(default)s)"
    )
    parser.add_choices("--outputs", OUTPUTS)
    parser.add_again()
    options, data, path = parser.read(arguments)
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
                if (output in cell and not options.again) or (
                    output.startswith("softmax") and size > MAX_SOFTMAX
                ):
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
        lines = (
            " ".join(line.strip().replace(" ", "_")) for line in read_text(data, "ptb", "train.txt")
        )
        sentences = [line for line in lines if line]
    elif name == "docstrings":
        docstrings = load_stdlib_docstrings().data
        sentences = [
            " ".join(each.lower().split()) for text in docstrings for each in split_sentences(text)
        ]
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
    log_probs = [
        np.log((counts[token] + 1) / total)
        for sentence in valid
        for token in tokens(sentence, words)
    ]
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
    """Train the default network; measure its perplexity after the first and the last epoch."""
    begin = time.perf_counter()
    model = HsigmoidLanguageModel(**MODELS[output], min_count=2, random_state=0).fit(
        train, X_valid=valid
    )
    history = model.history_
    return {
        "after one epoch": round(history[0]["valid_perplexity"], 1),
        "at the end": round(history[-1]["valid_perplexity"], 1),
        "training sentences": round(history[-1]["train_perplexity"], 1),
        "seconds": round(time.perf_counter() - begin, 1),
    }


def markdown(result: dict[str, Any]) -> str:
    """Return the table: each network after one epoch and at the end."""
    return table(
        ("text", "sentences", *_COUNTS, *OUTPUTS),
        (
            (
                text,
                f"{n_sentences:,}",
                *(str(cell["counts"][name]) for name in _COUNTS),
                *map(_shown, _networks(cell)),
            )
            for text, n_sentences, cell in _cells(result)
        ),
    )


def missed(result: dict[str, Any]) -> list[str]:
    """Return a line for every cell and bound that it misses."""
    lines = []
    for text, n_sentences, cell in _cells(result):
        counts = cell["counts"]
        bounds = {
            "after one epoch": ("add-one unigram", 1.0),
            "at the end": ("Kneser-Ney unigram", 1.0),
        }
        if n_sentences >= _NEAR_BIGRAM:
            bounds["at the end"] = (
                "Kneser-Ney bigram",
                1.0 if n_sentences >= _BELOW_BIGRAM else _TOLERANCE,
            )
        for output in OUTPUTS:
            for when, (name, factor) in bounds.items():
                if output in cell and not cell[output][when] <= counts[name] * factor:
                    bound = f"{counts[name]}" if factor == 1 else f"{factor} times {counts[name]}"
                    line = (
                        f"{text}, {n_sentences:,} sentences, {output}: {cell[output][when]} {when}"
                    )
                    lines.append(f"{line}, above {bound} of the {name}")
    return lines


def section(result: dict[str, Any]) -> str:
    """Return the number of trainings, the list of the cells that miss a bound, and the table."""
    n_cells = sum(len(list(filter(None, _networks(cell)))) for *_, cell in _cells(result))
    lines = missed(result)
    summary = f"{n_cells} trainings; {len(lines) or 'no'} figures above their bound"
    listed = "".join(f"- {line}\n" for line in lines)
    folded = f"<details>\n<summary>The table</summary>\n\n{markdown(result)}\n\n</details>"
    return f"{summary}{':' if lines else '.'}\n\n{listed}\n{folded}"


def _networks(cell: dict[str, Any]) -> Iterator[dict[str, Any] | None]:
    return (cell.get(output) for output in OUTPUTS)


def _shown(network: dict[str, Any] | None) -> str:
    return "" if network is None else f"{network['after one epoch']} → {network['at the end']}"


def _cells(result: dict[str, Any]) -> Iterator[tuple[str, int, dict[str, Any]]]:
    for text, sizes in result["texts"].items():
        for size in sorted(map(int, sizes)):
            yield text, size, sizes[str(size)]


TABLES = {"sizes": section}
