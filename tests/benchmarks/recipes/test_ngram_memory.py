"""The recipe on hashed n-grams: its text, exact dictionary, and comparison of results."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from benchmarks.commands.registry import get_recipe
from benchmarks.recipes.ngram_memory.networks import (
    BOUNDARY,
    DictionaryEmbedding,
    Memory,
    Transformer,
    Variant,
    make_memory,
    ngram_keys,
)
from benchmarks.recipes.ngram_memory.recipe import VARIANTS
from benchmarks.recipes.ngram_memory.report import differences, plot, report
from benchmarks.recipes.ngram_memory.training import bits_per_token, read_corpus, round_to_int8
from benchmarks.runner.recipe import Run
from tests.sentence_texts import PARAGRAPHS


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "paragraphs.txt").write_text("\n\n".join(PARAGRAPHS * 8), encoding="utf-8")
    return tmp_path


def test_every_variant_trains(folder: Path) -> None:
    for unit in ("bytes", "words"):
        recipe = get_recipe(f"ngram-memory-{unit}")
        names = tuple(VARIANTS[unit])
        small = replace(
            recipe.quick,
            data=str(folder),
            variants=names,
            context=8,
            batch=2,
            n_eval=64,
            seconds=0.001,
        )
        results = list(recipe.run(small, Run(seed=0, folder=folder)))
        assert [result["variant"] for result in results] == list(names)
        for result in results:
            assert math.isfinite(result["test_bits"])
            assert (result["n_table"] > 0) == (result["variant"] not in ("plain", "dense"))
        resumed = list(recipe.run(small, Run(seed=0, folder=folder, previous=results[:-1])))
        assert [result["variant"] for result in resumed] == [names[-1]]


def test_a_network_uses_its_memory() -> None:
    for place in (0, 1):
        variant = Variant(place=place, dim=8, n_blocks=2, rows=64)
        network = Transformer(16, 4, variant)
        torch.nn.init.normal_(network.head.weight)
        ids = torch.tensor([[1, 2, 3, 4]])
        before = network(ids)
        memory = network.memory = make_memory(variant, np.zeros(0, np.int64), 16, 0)
        assert memory is not None
        assert torch.equal(network(ids), before)
        torch.nn.init.normal_(memory.embedding.weight)
        after = network(ids)
        assert torch.equal(after[:, 0], before[:, 0])  # no n-gram ends there
        assert not torch.isclose(after[:, 1:], before[:, 1:]).all(dim=2).any()


def normalized(vector: torch.Tensor) -> torch.Tensor:
    return vector / (vector.square().mean() + torch.finfo(vector.dtype).eps).sqrt()


@pytest.mark.parametrize(
    ("gate", "convolution"), [(False, False), (True, False), (False, True), (True, True)]
)
def test_a_memory_follows_its_formulas(gate: bool, convolution: bool) -> None:
    variant = Variant(orders=(2, 3), rows=64, row_dim=3, dim=5, gate=gate, convolution=convolution)
    memory = make_memory(variant, np.zeros(0, np.int64), 9, 0)
    assert isinstance(memory, Memory)
    for parameter in memory.parameters():
        torch.nn.init.normal_(parameter)
    for norm in (module for module in memory.modules() if isinstance(module, torch.nn.RMSNorm)):
        torch.nn.init.ones_(norm.weight)
    ids, hidden = torch.randint(0, 9, (1, 20)), torch.randn(1, 20, 5)
    ids[0, [0, 8]] = BOUNDARY
    values: list[torch.Tensor] = []
    expected = []
    for t, (h, e) in enumerate(zip(hidden[0], memory.embedding(ids)[0], strict=True)):
        values.append(memory.value.weight @ e)
        if memory.gate is not None:
            values[t] = values[t] * torch.sigmoid(
                normalized(h) @ normalized(memory.gate.key.weight @ e) / 5**0.5
            )
        expected.append(h + values[t])
        if memory.convolution is not None:
            befores = [t - 3 * tap for tap in range(4)]
            total = sum(
                (
                    tap * normalized(values[before])
                    for tap, before in zip(memory.convolution.taps, befores, strict=True)
                    if before >= 0 and not (ids[0, before + 1 : t + 1] == BOUNDARY).any()
                ),
                torch.zeros(5),
            )
            expected[t] = expected[t] + torch.nn.functional.silu(total)
    torch.testing.assert_close(memory(hidden, ids)[0], torch.stack(expected))


def test_rows_of_int8_are_integers_times_a_number() -> None:
    table = torch.randn(5, 8)
    table[2] = 0
    rounded = table.clone()
    round_to_int8(rounded)
    scales = table.abs().max(dim=1).values[[0, 1, 3, 4], None] / 127
    integers = rounded[[0, 1, 3, 4]] / scales
    torch.testing.assert_close(integers, integers.round())
    assert (rounded - table).abs().max() <= scales.max() / 2 * 1.001
    assert not rounded[2].any()


def test_dense_has_the_parameters_of_hash() -> None:
    for unit, n_ids in (("bytes", 256), ("words", 8192)):
        sizes = {}
        for name in ("hash", "dense"):
            variant = Variant(**VARIANTS[unit][name])
            with torch.device("meta"):
                network = Transformer(n_ids, 128, variant)
            tables = len(variant.orders) * variant.rows * variant.row_dim if name == "hash" else 0
            sizes[name] = sum(parameter.numel() for parameter in network.parameters()) + tables
        assert 0.85 < sizes["dense"] / sizes["hash"] < 1.15


def test_articles_are_split_in_order_and_bytes_are_counted(folder: Path) -> None:
    corpus = read_corpus(folder / "paragraphs.txt", "bytes", 0, 0)
    whole = bytes(np.concatenate([corpus.train, corpus.valid, corpus.test]).astype(np.uint8))
    assert whole == "".join(f"\0{article}" for article in PARAGRAPHS * 8).encode()
    words = read_corpus(folder / "paragraphs.txt", "words", 50, 0)
    assert words.n_ids == 50
    assert words.train.max() == 49  # the unknown word
    assert 0 < words.unknown < 1
    assert words.bytes_per_token[1] * len(words.test) == pytest.approx(
        corpus.bytes_per_token[1] * len(corpus.test)
    )


def test_a_dictionary_has_a_row_for_each_of_the_most_frequent_ngrams() -> None:
    text = np.array([1, 2, 3, 1, 2, 4, 1, 2, 3])
    embedding = DictionaryEmbedding(
        text, 5, Variant(memory="dictionary", orders=(2,), rows=2, row_dim=1)
    )
    assert embedding.keys[0].tolist() == sorted(
        ngram_keys(np.array(pair), 2, 5)[0] for pair in ([1, 2], [2, 3])
    )
    with torch.no_grad():
        embedding.weight[:2, 0] = torch.tensor([10.0, 20.0])
    assert embedding(torch.tensor([[1, 2, 3, 4], [4, 1, 2, 0]]))[..., 0].tolist() == [
        [0, 10, 20, 0],
        [0, 0, 10, 0],
    ]
    assert len(set(ngram_keys(np.array([0, 1, 0, 0, 1, 1, 0]), 2, 2).tolist())) == 4


def test_the_ngrams_of_a_dictionary_are_those_of_the_hash() -> None:
    ids = torch.tensor([[1, 0, 2, 3, 0, 1, 0, 2, 3, 3]])
    memories = []
    for kind in ("hash", "dictionary"):
        memory = make_memory(Variant(memory=kind, rows=64, row_dim=1), ids[0].numpy(), 4, 0)
        assert memory is not None
        torch.nn.init.ones_(memory.embedding.weight)
        with torch.no_grad():
            memory.embedding.weight[-1] = 1 if kind == "hash" else 0
        memories.append(memory.embedding(ids))
    assert torch.equal(*memories)


def test_bits_of_a_network_that_knows_nothing() -> None:
    variant = Variant(memory="none", dim=8, n_blocks=1)
    network = Transformer(16, 4, variant)
    assert make_memory(variant, np.zeros(0, np.int64), 16, 0) is None
    assert bits_per_token(network, np.arange(50) % 16, 4, 32) == pytest.approx(4)


def result(variant: str, seed: int, bits: float, **other: object) -> dict[str, object]:
    fields = {"unit": "words", "n_dense": 2_000_000, "n_table": 0, "tokens": 10**6, "unknown": 0.1}
    run = {"settings": {"seconds": 300, "batch": 4}, "machine": {"processor": "one"}}
    return {"variant": variant, "seed": seed, "test_bits": bits} | fields | run | other


def test_differences_are_paired_by_seed() -> None:
    from scipy.stats import t

    runs = {
        "hash": [result("hash", 0, 2.0), result("hash", 1, 3.0)],
        # no hash of seed 2
        "plain": [result("plain", 0, 2.5), result("plain", 1, 3.7), result("plain", 2, 9.0)],
        "gate": [result("gate", 0, 1.9, n_table=5)],
    }
    compared = differences(runs)
    assert compared["plain"].mean == pytest.approx(0.6)
    assert compared["plain"].half == pytest.approx(t.ppf(0.975, 1) * math.sqrt(0.02) / math.sqrt(2))
    assert math.isnan(compared["gate"].half)
    (table,) = report([one for group in runs.values() for one in group])
    assert [row[0] for row in table.rows] == ["gate", "hash", "plain"]
    assert [row[-2] for row in table.rows] == ["-0.100", "", "+0.600"]
    assert "10.0% of the test words" in table.notes[1]
    other = result("plain", 0, 1.5, machine={"processor": "two"})  # no hash ran there
    assert differences(runs | {"plain": [*runs["plain"], other]}) == compared
    figure = Figure()
    plot([one for group in runs.values() for one in group], figure)
    (axes,) = figure.axes
    assert axes.get_title() == "words\nwithout tables: plain: +0.60"
    assert [label.get_text() for label in axes.get_yticklabels()] == ["gate"]
