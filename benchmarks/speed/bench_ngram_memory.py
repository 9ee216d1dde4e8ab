"""Hashed n-grams of token ids: rows read and updated per second, in memory and in a file.

Two parts, each of which can be run alone (--part) and is added to the same JSON; torch has one thread.

step   A training step of 32,768 tokens with bigrams and trigrams, 64 columns: forward and backward pass and the update
       of the rows. NgramHashEmbedding with RowwiseAdagrad, from token ids; torch.nn.EmbeddingBag with SparseAdam, and
       with the dense gradients of AdamW, both from rows that were hashed before. A table of ten million rows and one
       that fits the cache; the methods alternate. (3 minutes, 14 GB of memory)
file   The forward pass with the table in memory and in files with the rows of --gigabytes of float32: rows of float32
       and of int8, in the page cache and after its pages were dropped. (6 minutes, 9 GB of memory and of the disk)

    python -m benchmarks run bench_ngram_memory

It needs no data. Run it while nothing else runs.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn

from benchmarks.common.benchmark import BenchmarkParser, environment, read_result, write_result
from benchmarks.common.memory import in_new_process
from benchmarks.common.pages import table
from benchmarks.common.timing import median_ratio, order_of_round
from sklearn_hashnlp.nn import NgramHashEmbedding
from sklearn_hashnlp.optim import RowwiseAdagrad

RESULT = "ngram_memory.json"
PAGE = "ngram_memory.md"
PACKAGES = ("sklearn-hashnlp", "numpy", "torch")
SIZES = {"10,000,000": 10**7, "4,096": 2**12}  # rows
COLUMNS, N_IDS = 64, 50_000
BATCH = 64, 512
FILE_BATCH = 16, 256
OURS, SPARSE, DENSE = "NgramHashEmbedding, RowwiseAdagrad", "EmbeddingBag, SparseAdam", "EmbeddingBag, AdamW"
ROUNDS, DENSE_STEPS = 9, 3
FILES = {"float32": 4 * COLUMNS, "int8": COLUMNS + 4}  # bytes of a row


def main(arguments: Sequence[str] | None = None) -> None:
    parser = BenchmarkParser(__doc__, RESULT, "nothing")
    parser.add_choices("--part", ("step", "file"))
    parser.add_argument("--gigabytes", type=float, default=8.5, help="of the larger file (default: %(default)s)")
    parser.add_argument("--folder", type=Path, help="for the files (default: a temporary one)")
    options = parser.parse_args(arguments)
    path = parser.output_of(options)
    result = read_result(path)
    torch.set_num_threads(1)
    if "step" in options.part:
        sizes = {name: min(size, options.rows or size) for name, size in SIZES.items()}
        steps = {name: in_new_process(measure_steps, size) for name, size in sizes.items()}
        result["step"] = environment(*PACKAGES) | {"tokens": BATCH[0] * BATCH[1], "tables": steps}
        write_result(path, result)
    if "file" in options.part:
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            n_rows = int(options.gigabytes * 2**30) // FILES["float32"]
            measured = {dtype: in_new_process(measure_file, folder, n_rows, dtype) for dtype in FILES}
        memory = in_new_process(measure_memory, min(SIZES["10,000,000"], n_rows)), in_new_process(measure_memory, 2**12)
        rates = {"in memory": memory[0], "in the processor's cache": memory[1]} | measured
        result["file"] = environment(*PACKAGES) | {"rows": n_rows, "rows per second": rates}
        write_result(path, result)
    for name, text in TABLES.items():
        print(f"{name}\n{text(result)}\n")


def random_ids(seed: int, shape: tuple[int, int]) -> torch.Tensor:
    return torch.randint(0, N_IDS, shape, generator=torch.Generator().manual_seed(seed))


def measure_steps(n_rows: int) -> dict[str, Any]:
    """Return the seconds of training steps of all methods."""
    torch.set_num_threads(1)
    layer = NgramHashEmbedding(n_rows // 2, COLUMNS)
    nn.init.zeros_(layer.weight)  # all rows are in memory
    bags = {name: nn.EmbeddingBag(n_rows, COLUMNS, mode="sum", sparse=name == SPARSE) for name in (SPARSE, DENSE)}
    optimizers: dict[str, torch.optim.Optimizer] = {
        OURS: RowwiseAdagrad(layer.parameters(), lr=0.1),
        SPARSE: torch.optim.SparseAdam(bags[SPARSE].parameters()),
        DENSE: torch.optim.AdamW(bags[DENSE].parameters(), fused=True),
    }
    seconds: dict[str, list[dict[str, float]]] = {name: [] for name in optimizers}
    for round_ in range(-2, ROUNDS):  # the first rounds make states
        ids = random_ids(round_ + 2, BATCH)
        slots = layer.spec.locate(ids, None, 0)[0].flatten(0, 1).squeeze(-1)
        for name in order_of_round(list(optimizers), round_):
            if name == DENSE and round_ >= DENSE_STEPS:
                continue
            module: Callable[..., torch.Tensor] = layer if name == OURS else bags[name]
            times = time_step(module, ids if name == OURS else slots, optimizers[name])
            if round_ >= 0:
                seconds[name].append(times)
    return {
        "rows": n_rows,
        "seconds": seconds,
        "ratio": {
            name: median_ratio(
                *([sum(one.values()) for one in seconds[key]][: len(seconds[name])] for key in (name, OURS))
            )
            for name in (SPARSE, DENSE)
        },
    }


def time_step(
    module: Callable[..., torch.Tensor], ids: torch.Tensor, optimizer: torch.optim.Optimizer
) -> dict[str, float]:
    start = time.perf_counter()
    vectors = module(ids)
    forward = time.perf_counter()
    vectors.backward(torch.ones_like(vectors))
    backward = time.perf_counter()
    optimizer.step()
    optimizer.zero_grad()
    end = time.perf_counter()
    return {"forward": forward - start, "backward": backward - forward, "update": end - backward}


def measure_memory(n_rows: int) -> float:
    """Return the rows per second of the forward pass with a table in memory."""
    torch.set_num_threads(1)
    layer = NgramHashEmbedding(n_rows // 2, COLUMNS)
    nn.init.zeros_(layer.weight)
    return statistics.median(rows_per_second(layer, seed, FILE_BATCH) for seed in range(20))


def measure_file(folder: str, n_rows: int, dtype: str) -> dict[str, float]:
    """Write a file, and return the rows per second of the forward pass from it."""
    torch.set_num_threads(1)
    path = Path(folder) / f"{dtype}.safetensors"
    table = NgramHashEmbedding(n_rows // 2, COLUMNS)
    nn.init.uniform_(table.weight)  # zeros could be stored without reading the disk
    table.save_table(path, dtype)
    del table
    rows_per_second(NgramHashEmbedding.from_file(path), 0, FILE_BATCH)  # loads everything used
    cold = []
    for seed in range(1, 6):
        drop_pages(path)
        cold.append(rows_per_second(NgramHashEmbedding.from_file(path), seed, FILE_BATCH))
    layer = NgramHashEmbedding.from_file(path)
    with path.open("rb") as file:  # all pages into the page cache, if there is memory for them
        while file.read(2**26):
            pass
    cached = [rows_per_second(layer, seed, FILE_BATCH) for seed in range(300, 340)]
    size = path.stat().st_size
    path.unlink()
    return {"bytes": size, "cold": statistics.median(cold), "cached": statistics.median(cached)}


def rows_per_second(layer: NgramHashEmbedding, seed: int, shape: tuple[int, int]) -> float:
    ids = random_ids(seed, shape)
    start = time.perf_counter()
    layer(ids)
    return 2 * ids.numel() / (time.perf_counter() - start)


def drop_pages(path: Path) -> None:
    """Drop the pages of a file from the page cache."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)


def steps_table(result: dict[str, Any]) -> str:
    """Return the table of training steps."""
    if "step" not in result:
        return ""
    rows = []
    for size, measured in result["step"]["tables"].items():
        for name, runs in measured["seconds"].items():
            parts = [1000 * statistics.median(run[part] for run in runs) for part in ("forward", "backward", "update")]
            ratio = f"{measured['ratio'][name]:.1f}" if name in measured["ratio"] else ""
            cells = [f"{part:,.1f}" for part in (*parts, sum(parts))]
            rate = 2 * result["step"]["tokens"] / sum(parts) / 1000  # two rows for each token
            rows.append((size if name == OURS else "", name, *cells, f"{rate:.2f} million", ratio))
    head = ("rows", "", "forward, ms", "backward", "update", "total", "rows per second", "times as slow as the first")
    return table(head, rows)


def files_table(result: dict[str, Any]) -> str:
    """Return the table of rows per second."""
    if "file" not in result:
        return ""
    rates = result["file"]["rows per second"]
    rows = [(name, f"{rates[name] / 1e6:.2f} million") for name in ("in the processor's cache", "in memory")]
    for dtype in FILES:
        size = f"{rates[dtype]['bytes'] / 2**30:.1f} GB"
        rows += [
            (f"file of {size}, {dtype}, in the page cache", f"{rates[dtype]['cached'] / 1e6:.2f} million"),
            (f"file of {size}, {dtype}, on the disk", f"{rates[dtype]['cold'] / 1e6:.3f} million"),
        ]
    return table(("table", "rows per second"), rows)


TABLES = {"ngram memory steps": steps_table, "ngram memory files": files_table}
