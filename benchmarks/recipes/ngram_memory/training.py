"""Training of a small transformer for a given time of a processor or GPU, and its bits per byte."""

from __future__ import annotations

import math
import re
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

from benchmarks.recipes.ngram_memory.networks import Transformer, Variant, make_memory, ngram_keys
from sklearn_hashnlp.optim import RowwiseAdagrad
from sklearn_hashnlp.training._torch_scope import torch_seed

_HELD_OUT = 0.05  # the last articles are the test text, those before them the validation text
_WORD = re.compile(r"\w+|[^\w\s]|\n")
_WARMUP = 0.02  # share of the time in which learning rates rise
_LAST_RATE = 0.1  # share of a learning rate at the end of its linear decay
_LOGGED = 200  # steps between lines of the log


class Corpus(NamedTuple):
    """Token ids of the three parts of a text, and the bytes of a token on average."""

    train: NDArray[np.int64]
    valid: NDArray[np.int64]
    test: NDArray[np.int64]
    n_ids: int
    bytes_per_token: tuple[float, float]  # of the validation and of the test text
    unknown: float  # share of test words that are not in the vocabulary


@dataclass(frozen=True)
class Budget:
    """The time of a training, and the sizes of its batches."""

    seconds: float  # of one thread, or of the GPU
    batch: int
    context: int
    n_eval: int  # tokens of the validation and of the test text
    device: str


def read_corpus(path: Path, unit: str, vocabulary_size: int, n_characters: int) -> Corpus:
    """Read articles as bytes, or as words of a vocabulary of the training text."""
    articles = path.read_text(encoding="utf-8")[: n_characters or None].split("\n\n")
    ends = [round(len(articles) * (1 - 2 * _HELD_OUT)), round(len(articles) * (1 - _HELD_OUT))]
    parts = articles[: ends[0]], articles[ends[0] : ends[1]], articles[ends[1] :]
    unknown = 0.0
    if unit == "bytes":  # no article contains the byte 0
        n_ids = 256
        joined = ["".join(f"\0{article}" for article in part).encode() for part in parts]
        train, valid, test = (np.frombuffer(part, np.uint8).astype(np.int64) for part in joined)
    else:
        words = [
            [word for article in part for word in ("\0", *_WORD.findall(article))] for part in parts
        ]
        counts = Counter(words[0])
        del counts["\0"]
        ids = {
            word: index
            for index, (word, _) in enumerate(counts.most_common(vocabulary_size - 2), 1)
        } | {"\0": 0}
        n_ids = len(ids) + 1
        train, valid, test = (
            np.array([ids.get(word, n_ids - 1) for word in part], dtype=np.int64) for part in words
        )
        unknown = float(np.mean(test == n_ids - 1))
    sizes = [sum(len(article.encode()) for article in part) for part in parts]
    per_token = sizes[1] / len(valid), sizes[2] / len(test)
    return Corpus(train, valid, test, n_ids, per_token, unknown)


def train_variant(
    variant: Variant,
    corpus: Corpus,
    budget: Budget,
    *,
    seed: int,
    log: Callable[[str], None],
    progress: Callable[[float], None],
) -> dict[str, Any]:
    """Train a network for some time of this thread or of the GPU, and measure its bits per byte."""
    torch.set_num_threads(1)
    with torch_seed(seed, "cpu"):  # the same weights with any memory
        network = Transformer(corpus.n_ids, budget.context, variant)
        memory = network.memory = make_memory(variant, corpus.train, corpus.n_ids, seed)
    network.to(budget.device)
    tables = (
        []
        if memory is None
        else [t for t in (memory.embedding.weight, memory.embedding.importance) if t is not None]
    )
    dense = [p for p in network.parameters() if not any(p is table for table in tables)]
    ids = torch.zeros(1, 2, dtype=torch.int64, device=budget.device)
    network(ids).sum().backward()  # loads everything used
    network.zero_grad()
    positions, spent = _train(network, dense, tables, variant, corpus, budget, seed, log, progress)

    def bits(text: NDArray[np.int64], bytes_per_token: float) -> float:
        return bits_per_token(network, text, budget.context, budget.n_eval) / bytes_per_token

    result: dict[str, Any] = {
        "tokens": positions.size * budget.context,
        "thread_seconds": spent,
        "n_dense": sum(p.numel() for p in dense),
        "n_table": sum(table.numel() for table in tables),
        "valid_bits": bits(corpus.valid, corpus.bytes_per_token[0]),
        "test_bits": bits(corpus.test, corpus.bytes_per_token[1]),
    }
    if memory is not None and variant.memory == "hash" and budget.device == "cpu":
        result["ngrams_per_row"] = _ngrams_per_row(
            variant, corpus, positions.ravel(), budget.context
        )
        round_to_int8(memory.embedding.weight)
        result["test_bits_int8"] = bits(corpus.test, corpus.bytes_per_token[1])
    return result


@torch.no_grad()
def round_to_int8(table: torch.Tensor) -> None:
    """Round each row to a number of float32 times integers of 8 bits."""
    scales = table.abs().amax(dim=1, keepdim=True).clamp(min=1e-30) / 127
    table.copy_((table / scales).round() * scales)


def _train(
    network: nn.Module,
    dense: list[nn.Parameter],
    tables: list[nn.Parameter],
    variant: Variant,
    corpus: Corpus,
    budget: Budget,
    seed: int,
    log: Callable[[str], None],
    progress: Callable[[float], None],
) -> tuple[NDArray[np.int64], float]:
    """Train until the time is spent; return the first tokens of all sequences, and the time."""
    decayed: dict[str, Any] = {"params": [p for p in dense if p.dim() == 2]}
    others: dict[str, Any] = {"params": [p for p in dense if p.dim() != 2], "weight_decay": 0.0}
    rate = variant.learning_rate * math.sqrt(256 / variant.dim)
    optimizers: list[tuple[torch.optim.Optimizer, float]] = [
        (
            torch.optim.AdamW(
                [decayed, others], betas=(0.9, 0.95), weight_decay=0.1, fused=budget.device != "cpu"
            ),
            rate,
        )
    ]
    if tables:
        optimizers.append(
            (
                torch.optim.SparseAdam(tables) if variant.full_state else RowwiseAdagrad(tables),
                variant.table_lr,
            )
        )
    device, clock = budget.device, time.thread_time if budget.device == "cpu" else time.perf_counter
    generator, n_starts = np.random.default_rng(seed), len(corpus.train) - budget.context - 1
    text, window = (
        torch.from_numpy(corpus.train).to(device),
        torch.arange(budget.context + 1, device=device),
    )
    positions: list[NDArray[np.int64]] = []
    spent, total = 0.0, torch.zeros((), device=device)
    while spent < budget.seconds:
        started, share = clock(), spent / budget.seconds
        for optimizer, rate in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = rate * min(share / _WARMUP + 1e-3, 1 - (1 - _LAST_RATE) * share)
        positions.append(generator.integers(0, n_starts, budget.batch))
        ids = text[torch.from_numpy(positions[-1]).to(device)[:, None] + window]
        with torch.autocast(device, torch.bfloat16):
            scores = network(ids[:, :-1])
        loss = functional.cross_entropy(scores.float().flatten(0, 1), ids[:, 1:].flatten())
        loss.backward()  # type: ignore[no-untyped-call]  # torch has no types for it
        nn.utils.clip_grad_norm_(dense, 1.0)
        for optimizer, _ in optimizers:
            optimizer.step()
            optimizer.zero_grad()
        total += loss.detach()
        if len(positions) % _LOGGED == 0:
            bits = total.item() / _LOGGED / math.log(2)  # waits for the GPU
            progress(min(spent / budget.seconds, 1.0))
            log(f"step {len(positions)}, {spent:.0f} s: {bits:.3f} bits per token")
            total.zero_()
        spent += clock() - started
    return np.array(positions), spent


@torch.no_grad()
def bits_per_token(
    network: nn.Module, text: NDArray[np.int64], context: int, n_tokens: int
) -> float:
    """Return the bits per token of the first tokens of a text, in windows without overlap."""
    n_windows = min((len(text) - 1) // context, max(n_tokens // context, 1))
    total, device = 0.0, next(network.parameters()).device
    for first in range(0, n_windows, 16):
        starts = np.arange(first, min(first + 16, n_windows)) * context
        ids = torch.from_numpy(text[starts[:, None] + np.arange(context + 1)]).to(device)
        with torch.autocast(device.type, torch.bfloat16):
            scores = network(ids[:, :-1])
        total += float(
            functional.cross_entropy(
                scores.float().flatten(0, 1), ids[:, 1:].flatten(), reduction="sum"
            )
        )
    return total / math.log(2) / (n_windows * context)


def _ngrams_per_row(
    variant: Variant, corpus: Corpus, positions: NDArray[np.int64], context: int
) -> list[float]:
    """Return the number of different n-grams in the sequences per row, for each order."""
    covered = np.zeros(len(corpus.train), dtype=np.int8)
    for offset in range(context):
        covered[positions + offset] = 1
    ratios = []
    for order in variant.orders:
        whole = np.convolve(covered, np.ones(order, dtype=np.int8), "valid") == order
        keys = ngram_keys(corpus.train, order, corpus.n_ids)[whole]
        ratios.append(len(np.unique(keys)) / (variant.rows * variant.heads))
    return ratios
