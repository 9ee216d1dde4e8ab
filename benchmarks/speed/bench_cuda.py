"""AG News on a CUDA device and on the CPU: seconds per epoch and accuracy, by batch size.

Both train the same pipeline with the same seed for three epochs; the seconds are of the fastest epoch after the
first, which also loads compiled kernels and copies the data to the device. A warm-up training is not counted.

    python -m benchmarks run bench_cuda --data DIR
    python -m benchmarks run bench_cuda --data DIR --batch-sizes 32 1024 --devices cuda
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import torch

from benchmarks.common.benchmark import BenchmarkParser, environment, write_result
from benchmarks.common.data import Rows
from benchmarks.common.timing import train_and_test
from sklearn_hashnlp.classifiers import make_text_classifier

RESULT = "cuda.json"
EPOCHS = 3
EPOCH_SECONDS = 0.1


def main(arguments: Sequence[str] | None = None) -> None:
    parser = BenchmarkParser(__doc__, RESULT)
    parser.add_argument("--batch-sizes", type=int, nargs="+", default=[32, 128, 512, 2048], help="default: %(default)s")
    parser.add_argument("--devices", nargs="+", choices=["cpu", "cuda"], default=["cpu", "cuda"], help="default: both")
    parser.add_argument(
        "--seeds", type=int, default=3, help="trainings per device and batch size (default: %(default)s)"
    )
    options = parser.parse_args(arguments)
    if "cuda" in options.devices and not torch.cuda.is_available():
        raise SystemExit(
            "torch sees no CUDA device, and this benchmark compares one with the CPU. Run it on a machine with a "
            "CUDA device and a torch built for CUDA; --devices cpu measures the CPU alone."
        )
    data, path = parser.data_of(options), parser.output_of(options)
    train, test = data.train("ag_news"), data.test("ag_news")

    measured = []
    print(f"{'device':8}{'batch':>7}{'epoch s':>10}{'fit s':>8}{'accuracy %':>12}")
    for device in options.devices:
        measure(device, options.batch_sizes[0], 0, train, test)
        for batch_size in options.batch_sizes:
            runs = [measure(device, batch_size, seed, train, test) for seed in range(options.seeds)]
            one = {
                "device": device,
                "batch size": batch_size,
                "epoch s": min(run["epoch s"] for run in runs),
                "fit s": min(run["seconds"] for run in runs),
                "accuracy": sum(run["accuracy"] for run in runs) / len(runs),
                "runs": runs,
            }
            measured.append(one)
            print(
                f"{device:8}{batch_size:7}{one['epoch s']:10.3f}{one['fit s']:8.2f}{one['accuracy']:12.2f}", flush=True
            )
    print(f"Goal: {EPOCH_SECONDS} s per epoch on the device, with the accuracy of the CPU.")

    env = environment("sklearn-hashnlp", "numpy", "skorch", "torch")
    env["machine"]["device"] = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    env["machine"]["threads"] = len(os.sched_getaffinity(0))
    rows = {"train": len(train.texts), "test": len(test.texts)}
    write_result(path, env | {"data": {"name": "AG News", "rows": rows}, "epochs": EPOCHS, "models": measured})


def measure(device: str, batch_size: int, seed: int, train: Rows, test: Rows) -> dict[str, Any]:
    model = make_text_classifier(random_state=seed).set_params(
        classifier__device=device, classifier__batch_size=batch_size, classifier__max_epochs=EPOCHS
    )
    run = train_and_test(model, train, test)
    return run | {"epoch s": min(epoch["dur"] for epoch in model["classifier"].history_[1:])}
