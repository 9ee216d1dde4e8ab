"""The recipe ``reversal``: its strings, networks that learn to reverse them, and its tables."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
import torch

from benchmarks.commands.registry import get_recipe
from benchmarks.recipes.reversal.networks import AttentionNetwork
from benchmarks.recipes.reversal.settings import ReversalSettings
from benchmarks.recipes.reversal.training import (
    Trainer,
    draw_common_parts,
    draw_glorot,
    draw_strings,
    make_output,
)
from benchmarks.runner import Recipe, run_recipe
from sklearn_hashnlp.nn import FullSoftmax
from sklearn_hashnlp.trees import random_tree
from tests.oracles import seq2seq as oracle

SIZES = ReversalSettings(
    n_symbols=6, embedding_dim=16, encoder_size=24, decoder_size=24, learning_rate=0.02
)
OUTPUTS = ["softmax", "hsigmoid"]


def make_trainer(output: str, seed: int = 0) -> Trainer:
    return Trainer(output, SIZES, seed)


def strings(n_strings: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    return draw_strings(n_strings, 6, 3, generator=torch.Generator().manual_seed(seed))


def make_network(encoder_layers: int = 1, decoder_layers: int = 1) -> AttentionNetwork:
    torch.manual_seed(0)
    return AttentionNetwork(7, 3, 5, 4, FullSoftmax(4, 7), encoder_layers, decoder_layers).double()


def padded(strings: list[list[int]], *, columns: int = 0) -> torch.Tensor:
    width = max([columns, *map(len, strings)])
    return torch.tensor(
        [[*string, *[-1] * (width - len(string))] for string in strings], dtype=torch.int64
    )


SOURCES: list[list[int]] = [[0, 3, 5], [2], [], [5, 5, 1, 4]]
TARGETS: list[list[int]] = [[5, 3, 0], [2, 1, 1, 4, 0], [3], []]


@pytest.mark.parametrize("layers", [(1, 1), (3, 2)])
def test_log_probabilities_follow_the_formulas(layers: tuple[int, int]) -> None:
    network = make_network(*layers)
    log_probs, loss = network(padded(SOURCES), padded(TARGETS, columns=9))
    loss.backward()
    assert all(parameter.grad.any() for parameter in network.parameters())
    expected, n_symbols = [], 0
    for source, target in zip(SOURCES, TARGETS, strict=True):
        symbols = [*target, network.end]
        by_step = oracle.log_probs(network, source, len(symbols))
        expected.append(
            sum(float(step[symbol]) for step, symbol in zip(by_step, symbols, strict=True))
        )
        n_symbols += len(symbols)
    assert log_probs.tolist() == pytest.approx(expected)
    assert loss.item() == pytest.approx(-sum(expected) / n_symbols)


def test_generation_predicts_the_most_probable_symbol_until_the_end() -> None:
    generator = torch.Generator().manual_seed(3)
    lengths = set()
    for n_layers in (1, 1, 1, 1, 1, 2):
        network = make_network(decoder_layers=n_layers)
        for parameter in network.parameters():
            parameter.data.normal_(std=2.0, generator=generator)
        network.output.bias.data[network.end] += 1
        sources = [torch.randint(6, (n,), generator=generator).tolist() for n in range(6)]
        generated = network.generate(padded(sources)).tolist()
        strings = []
        for source in sources:
            symbols = [int(step.argmax()) for step in oracle.log_probs(network, source, 2 * 5 + 3)]
            strings.append(
                symbols[: symbols.index(network.end)] if network.end in symbols else symbols
            )
        assert generated == padded(strings).tolist()
        lengths.update(map(len, strings))
    assert len(lengths) > 3  # else the end was never checked


@pytest.mark.slow  # test_training_on_fresh_strings_ends_when_they_are_reversed is quick
@pytest.mark.parametrize("output", OUTPUTS)
def test_a_network_learns(output: str) -> None:
    trainer, train = make_trainer(output), strings(300)
    before = trainer.loss(*train)
    assert trainer.exact_match(*train)[0] < 0.5
    for _ in range(20):
        assert trainer.train_epoch(*train) > 0
    assert trainer.epochs == 20
    assert trainer.loss(*train) < before / 5
    assert trainer.exact_match(*strings(100, seed=1))[0] > 0.9


@pytest.mark.parametrize("output", OUTPUTS)
def test_gradient_descent_follows_the_summed_loss_of_a_string(output: str) -> None:
    sgd = replace(SIZES, learning_rate=0.1, batch_size=1, optimizer="sgd", decoder_layers=2)
    trainer = Trainer(output, sgd, seed=0)
    source, target = torch.tensor([[3, 1, 2]]), torch.tensor([[2, 1, 3]])
    (-trainer.network(source, target)[0].sum()).backward()
    gradients = {
        name: parameter.grad.clone() for name, parameter in trainer.network.named_parameters()
    }
    before = {
        name: parameter.detach().clone() for name, parameter in trainer.network.named_parameters()
    }
    norm = torch.stack([gradient.norm() for gradient in gradients.values()]).norm()
    trainer.train_epoch(source, target)
    for name, parameter in trainer.network.named_parameters():
        step = 0.1 * gradients[name] * min(1.0, 5.0 / float(norm))
        torch.testing.assert_close(parameter.detach(), before[name] - step)


def test_exact_match_counts_whole_strings(monkeypatch: pytest.MonkeyPatch) -> None:
    trainer, (source, target) = make_trainer("softmax"), strings(500)
    wrong = target.clone()
    wrong[7, 0] = (wrong[7, 0] + 1) % 6  # one symbol
    wrong[300] = (
        torch.tensor([target[300, 0], -1, -1]) if target[300, 1] >= 0 else torch.tensor([0, 0, 0])
    )
    parts = iter(torch.split(torch.nn.functional.pad(wrong, (0, 2), value=-1), 250))
    monkeypatch.setattr(trainer.network, "generate", lambda _source: next(parts))
    assert trainer.exact_match(source, target)[0] == 498 / 500


@pytest.mark.parametrize("output", OUTPUTS)
def test_glorot_draws_every_parameter_within_its_bounds(output: str) -> None:
    torch.manual_seed(0)
    network = AttentionNetwork(9, 6, 8, 10, make_output(output, 10, 9, 0))
    draw_glorot(network)
    sizes = {"embedding.weight": 6, "encoder.weight_ih_l0": 8 + 6}
    sizes |= {"decoder.0.weight_ih": 10 + 8, "decoder.0.bias_hh": 10}
    sizes |= {"attend_score.weight": 1 + 8, "attend_encoder.weight": 8 + 8}
    sizes |= {"output.weight": 9 + 10, "output.bias": 9} if output == "softmax" else {}
    for name, size in sizes.items():
        largest, bound = network.get_parameter(name).abs().max(), (6 / size) ** 0.5
        assert 0.5 * bound < largest <= bound
    if output == "hsigmoid":  # a binary node has the difference of two scores
        assert (6 / 12) ** 0.5 < network.output.weight.abs().max() <= 2 * (6 / 12) ** 0.5
        assert network.output.bias.abs().max() <= 2 * 3**0.5


def draw(
    n_strings: int, n_symbols: int = 9, max_length: int = 4, seed: int = 0
) -> tuple[list[list[int]], ...]:
    generator = torch.Generator().manual_seed(seed)
    pair = draw_strings(n_strings, n_symbols, max_length, generator=generator)
    for strings in pair:
        mask = strings >= 0
        assert strings.shape == (n_strings, max_length)
        assert ((strings >= -1) & (strings < n_symbols)).all()
        assert not (mask[:, 1:] & ~mask[:, :-1]).any()  # padding is at the end
    return tuple(
        [[symbol for symbol in row if symbol >= 0] for row in strings.tolist()] for strings in pair
    )


def test_targets_are_reversed_strings_of_random_lengths_and_symbols() -> None:
    source, target = draw(20_000)
    assert target == [string[::-1] for string in source]
    for values, n_values in (
        ([len(string) - 1 for string in source], 4),
        ([string[0] for string in source], 9),
        ([string[-1] for string in source if len(string) > 1], 9),
    ):
        shares = torch.bincount(torch.tensor(values), minlength=n_values) / len(values)
        assert len(shares) == n_values
        assert (shares - 1 / n_values).abs().max() < 0.02


TINY = replace(
    get_recipe("reversal").quick,
    n_symbols=5,
    max_length=2,
    n_train=80,
    encoder_size=20,
    learning_rate=0.02,
)


def run(**changes: Any) -> list[dict[str, Any]]:
    return list(run_recipe(get_recipe("reversal"), settings=replace(TINY, **changes)))


@pytest.fixture(scope="module")
def whole() -> list[dict[str, Any]]:
    return run()


def without_times(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {key: value for key, value in result.items() if not key.startswith("seconds")}
        for result in results
        if result["part"] != "output layer alone"
    ]


def test_it_runs_to_the_end_and_repeats(whole: list[dict[str, Any]]) -> None:
    progress: list[tuple[int, int]] = []
    lines: list[str] = []
    recipe: Recipe = get_recipe("reversal")
    first = list(
        run_recipe(
            recipe,
            settings=TINY,
            log=lines.append,
            progress=lambda done, total: progress.append((done, total)),
        )
    )
    assert [(result["part"], result.get("output")) for result in first] == [
        ("fixed strings", "softmax"),
        ("fixed strings", "hsigmoid"),
        ("fresh strings", "softmax"),
        ("fresh strings", "hsigmoid"),
        ("output layer alone", None),
    ]
    assert progress == sorted(progress)
    assert progress[-1][0] == progress[-1][1]
    assert "fixed strings, hsigmoid: epoch 2 of 2, loss " in "\n".join(lines)
    fixed = first[0]
    assert len(fixed["valid_loss_per_epoch"]) == fixed["epochs"] == 2
    assert (
        fixed["valid_loss"] == fixed["valid_loss_per_epoch"][-1] < fixed["valid_loss_per_epoch"][0]
    )
    assert without_times(first) == without_times(whole)
    assert without_times(first) != without_times(list(run_recipe(recipe, settings=TINY, seed=1)))


@pytest.mark.parametrize("output", ["softmax", "hsigmoid"])
def test_training_on_fresh_strings_ends_when_they_are_reversed(output: str) -> None:
    *_, fresh, _ = run(outputs=(output,), epochs=1, max_epochs=100, stop_at=0.9)
    assert fresh["part"] == "fresh strings"
    *before, last = fresh["exact_match_per_epoch"]
    assert fresh["epochs"] == len(before) + 1 < 100
    assert max(before) < 0.9 <= last
    assert fresh["exact_match"] > 0.6


def test_the_tables_are_made_from_results_alone(whole: list[dict[str, Any]]) -> None:
    results = json.loads(json.dumps(whole))
    for result, seconds in zip(results[:2], (30.0, 20.0), strict=True):
        result["seconds"] = seconds
    results[4]["seconds_per_step"] = {"softmax": 0.008, "hsigmoid": 0.002}
    tables = {table.title: table for table in get_recipe("reversal").report(results)}
    ratios = tables["Speed ratio, full softmax / tree"]
    assert ["training, fixed strings", "0", "1.50"] in ratios.rows
    assert ["output layer alone, training", "0", "4.00"] in ratios.rows
    assert ratios.notes == []
    assert tables["Fixed strings"].header[-1] == "validation loss"
    assert len(tables["Fresh strings"].rows) == 2
    alone = [result for result in results if result.get("output") == "softmax"]
    assert [table.title for table in get_recipe("reversal").report(alone)] == [
        "Fixed strings",
        "Fresh strings",
    ]


def test_a_run_resumes_after_previous_results(whole: list[dict[str, Any]]) -> None:
    rest = list(run_recipe(get_recipe("reversal"), settings=TINY, previous=whole[:3]))
    assert [result["step"] for result in rest] == [3, 4]
    assert without_times(rest) == without_times(whole[3:])


def test_embeddings_have_a_part_for_each_branch_of_the_path() -> None:
    tree, vectors = random_tree(9, random_state=1), torch.empty(9, 40_000)
    draw_common_parts(vectors, tree, generator=torch.Generator().manual_seed(0))
    paths = [set(zip(*(part.tolist() for part in tree.path(c)), strict=True)) for c in range(9)]
    for c, path in enumerate(paths):
        for other, other_path in enumerate(paths):
            expected = 0.01 * len(path & other_path) / (len(path) * len(other_path)) ** 0.5
            mean = float((vectors[c] * vectors[other]).mean())
            assert mean == pytest.approx(expected, abs=5 * 0.01 / 200)


def test_the_trees_of_embeddings_and_of_the_output() -> None:
    normal, same, other = (
        Trainer("hsigmoid", replace(SIZES, embeddings=name), seed=0).network.state_dict()
        for name in ("normal", "tree", "other_tree")
    )
    changed = {name for name in normal if not torch.equal(normal[name], same[name])}
    assert changed == {"embedding.weight"}
    assert not torch.equal(same["embedding.weight"], other["embedding.weight"])
