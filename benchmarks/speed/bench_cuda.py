"""Training on a CUDA device and on the CPU: seconds per epoch and what was learned, by batch size.

The text classifier trains on AG News; a language model with a softmax over 10,000 words and 512
hidden units on 3,000 sentences of the Penn Treebank, a sentence encoder with two Transformer layers
on 1,000 texts of AG News. Both devices train the same model with the same seed; the seconds are of
the fastest epoch after the first, which also copies the data to the device. A warm-up training is
not counted.

    python -m benchmarks run bench_cuda --data DIR
    python -m benchmarks run bench_cuda --data DIR --models "text classifier" --devices cuda
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from statistics import mean
from typing import Any

import torch

from benchmarks.common.benchmark import BenchmarkParser, environment, write_result
from benchmarks.common.data import DataFolder
from benchmarks.common.pages import table
from benchmarks.common.timing import train_and_test
from sklearn_hashnlp.classifiers import make_text_classifier
from sklearn_hashnlp.language import HsigmoidLanguageModel
from sklearn_hashnlp.sentences import Network, SGNNSentenceEncoder

RESULT = "cuda.json"
PAGE = "gpu.md"
HEADS = (
    "model",
    "batch size",
    "CPU, s per epoch",
    "GPU, s per epoch",
    "CPU : GPU",
    "CPU",
    "GPU",
    "",
)
# what was measured, and the history of the training
Trained = tuple[dict[str, float], list[dict[str, Any]]]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = BenchmarkParser(
        __doc__, RESULT, "ag_news/train.csv and test.csv, ptb/train.txt and valid.txt"
    )
    parser.add_choices("--models", MODELS)
    parser.add_choices("--devices", ["cpu", "cuda"])
    parser.add_argument(
        "--seeds", type=int, default=3, help="trainings of each (default: %(default)s)"
    )
    options = parser.parse_args(arguments)
    if "cuda" in options.devices and not torch.cuda.is_available():
        raise SystemExit(
            "torch sees no CUDA device, and this benchmark compares one with the CPU. Run it on a "
            "machine with a CUDA device and a torch built for CUDA; --devices cpu measures the "
            "CPU alone."
        )
    data, path = parser.data_of(options), parser.output_of(options)
    result = environment("sklearn-hashnlp", "numpy", "skorch", "torch")
    result["machine"]["device"] = (
        torch.cuda.get_device_name() if torch.cuda.is_available() else None
    )
    result["machine"]["threads"] = len(os.sched_getaffinity(0))
    result["models"] = []
    for name in options.models:
        train, batch_sizes = MODELS[name]
        for device in options.devices:
            train(data, device, batch_sizes[-1], 0)
            for batch_size in batch_sizes:
                runs = [train(data, device, batch_size, seed) for seed in range(options.seeds)]
                seconds = [epoch["dur"] for _, history in runs for epoch in history[1:]]
                scores = {key: mean(score[key] for score, _ in runs) for key in runs[0][0]}
                one = {
                    "model": name,
                    "device": device,
                    "batch size": batch_size,
                    "epoch s": min(seconds),
                } | scores
                result["models"].append(one)
                print(", ".join(f"{key}: {value}" for key, value in one.items()), flush=True)
                write_result(path, result)


def train_classifier(data: DataFolder, device: str, batch_size: int, seed: int) -> Trained:
    model = make_text_classifier(random_state=seed).set_params(
        classifier__device=device, classifier__batch_size=batch_size, classifier__max_epochs=3
    )
    run = train_and_test(model, data.train("ag_news"), data.test("ag_news"))
    return {"accuracy": run["accuracy"]}, model["classifier"].history_


def train_language_model(data: DataFolder, device: str, batch_size: int, seed: int) -> Trained:
    model = HsigmoidLanguageModel(
        output="softmax",
        hidden_size=512,
        embedding_dim=128,
        batch_size=batch_size,
        max_epochs=2,
        device=device,
        random_state=seed,
    )
    lines, valid = (
        (data.path / "ptb" / name).read_text(encoding="utf-8").splitlines()
        for name in ("train.txt", "valid.txt")
    )
    model.fit(lines[: data.rows or 3000])
    return {"perplexity": model.perplexity(valid[:1000])}, model.history_


def train_encoder(data: DataFolder, device: str, batch_size: int, seed: int) -> Trained:
    encoder = SGNNSentenceEncoder(
        network=Network(n_layers=2),
        max_epochs=2,
        batch_size=batch_size,
        device=device,
        random_state=seed,
    ).fit(data.train("ag_news").texts[:1000])
    return {"training loss": encoder.history_[-1]["train_loss"]}, encoder.history_


MODELS: dict[str, tuple[Callable[..., Trained], tuple[int, ...]]] = {
    "text classifier": (train_classifier, (32, 128, 512, 2048)),
    "language model": (train_language_model, (128, 1024)),
    "sentence encoder": (train_encoder, (64, 256)),
}


def markdown(result: dict[str, Any]) -> str:
    """Return the table of the page: a row per model and batch size."""
    rows = []
    by_device = {(one["model"], one["batch size"], one["device"]): one for one in result["models"]}
    for (model, size, device), gpu in by_device.items():
        if device == "cuda" and (cpu := by_device.get((model, size, "cpu"))):
            score = next(key for key in ("accuracy", "perplexity", "training loss") if key in gpu)
            seconds = [f"{one['epoch s']:.3g}" for one in (cpu, gpu)]
            scores = [f"{one[score]:.4g}" for one in (cpu, gpu)]
            ratio = cpu["epoch s"] / gpu["epoch s"]
            rows.append(
                [
                    model,
                    f"{size:,}",
                    *seconds,
                    f"{ratio:.{0 if ratio >= 10 else 2}f}",
                    *scores,
                    score,
                ]
            )
    return table(HEADS, rows)


TABLES = {"cuda": markdown}
