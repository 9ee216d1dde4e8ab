"""Strings and networks that learn to reverse them."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from benchmarks.recipes.reversal_settings import ReversalSettings
from benchmarks.recipes.reversal_training import (
    Purpose,
    Trainer,
    draw_glorot,
    draw_strings,
    generator_for,
    make_output,
    time_layers,
)
from sklearn_hashnlp.nn import AttentionSeq2Seq

SIZES = ReversalSettings(n_symbols=6, embedding_dim=16, encoder_size=24, decoder_size=24, learning_rate=0.02)
OUTPUTS = ["softmax", "hsigmoid"]


def make_trainer(output: str, seed: int = 0) -> Trainer:
    return Trainer(output, SIZES, seed)


def strings(n_strings: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    return draw_strings(n_strings, 6, 3, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("output", [pytest.param("softmax", marks=pytest.mark.slow), "hsigmoid"])
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
def test_the_same_seed_gives_the_same_network_whatever_torch_is_set_to(output: str) -> None:
    train, parameters, state = strings(40), [], torch.random.get_rng_state()
    threads = torch.get_num_threads()
    try:
        for number, seed in ((1, 0), (2, 0), (1, 1)):
            torch.set_num_threads(number)
            trainer = make_trainer(output, seed)
            with torch.no_grad():
                trainer.train_epoch(*train)
            parameters.append([parameter.detach().clone() for parameter in trainer.network.parameters()])
    finally:
        torch.set_num_threads(threads)
    assert torch.equal(state, torch.random.get_rng_state())
    assert all(torch.equal(a, b) for a, b in zip(parameters[0], parameters[1], strict=True))
    assert not any(torch.equal(a, b) for a, b in zip(parameters[0], parameters[2], strict=True))


@pytest.mark.parametrize("output", OUTPUTS)
def test_gradient_descent_follows_the_summed_loss_of_a_string(output: str) -> None:
    sgd = replace(SIZES, learning_rate=0.1, batch_size=1, optimizer="sgd", decoder_layers=2)
    trainer = Trainer(output, sgd, seed=0)
    source, target = torch.tensor([[3, 1, 2]]), torch.tensor([[2, 1, 3]])
    (-trainer.network(source, target)[0].sum()).backward()
    gradients = {name: parameter.grad.clone() for name, parameter in trainer.network.named_parameters()}
    before = {name: parameter.detach().clone() for name, parameter in trainer.network.named_parameters()}
    norm = torch.stack([gradient.norm() for gradient in gradients.values()]).norm()
    trainer.train_epoch(source, target)
    for name, parameter in trainer.network.named_parameters():
        step = 0.1 * gradients[name] * min(1.0, 5.0 / float(norm))
        torch.testing.assert_close(parameter.detach(), before[name] - step)


def test_all_but_the_output_layer_is_initialized_the_same() -> None:
    one, other = (dict(make_trainer(output).network.named_parameters()) for output in OUTPUTS)
    for name in one:
        assert name.startswith("output.") or torch.equal(one[name], other[name])


def test_warming_up_changes_no_weights() -> None:
    train = strings(40)
    trainers = [make_trainer("hsigmoid") for _ in range(2)]
    trainers[0].warm_up(*train)
    for trainer in trainers:
        trainer.train_epoch(*train)
    assert trainers[0].loss(*train) == trainers[1].loss(*train)


def test_exact_match_counts_whole_strings(monkeypatch: pytest.MonkeyPatch) -> None:
    trainer, (source, target) = make_trainer("softmax"), strings(500)
    wrong = target.clone()
    wrong[7, 0] = (wrong[7, 0] + 1) % 6  # one symbol
    wrong[300] = torch.tensor([target[300, 0], -1, -1]) if target[300, 1] >= 0 else torch.tensor([0, 0, 0])
    parts = iter(torch.split(torch.nn.functional.pad(wrong, (0, 2), value=-1), 250))
    monkeypatch.setattr(trainer.network, "generate", lambda _source: next(parts))
    assert trainer.exact_match(source, target)[0] == 498 / 500


def test_layers_are_timed() -> None:
    layers = {output: make_output(output, 4, 7, 0) for output in OUTPUTS}
    times = time_layers(layers, in_features=4, n_classes=7, rows=5, repeats=3)
    assert list(times) == OUTPUTS
    assert all(seconds > 0 for seconds in times.values())


def test_the_tree_has_the_arity_of_the_settings() -> None:
    assert make_output("hsigmoid", 4, 9, 0).tree.is_binary
    assert make_output("hsigmoid", 4, 9, 0, arity=3).tree.arities.tolist() == [3, 3, 3, 3]


@pytest.mark.parametrize("output", OUTPUTS)
def test_glorot_draws_every_parameter_within_its_bounds(output: str) -> None:
    torch.manual_seed(0)
    network = AttentionSeq2Seq(9, 6, 8, 10, output=make_output(output, 10, 9, 0))
    draw_glorot(network)
    sizes = {"embedding.weight": 6, "encoder.weight_ih_l0": 8 + 6, "decoder.weight_ih": 10 + 8, "decoder.bias_hh": 10}
    sizes |= {"attend_score.weight": 1 + 8, "attend_encoder.weight": 8 + 8}
    sizes |= {"output.weight": 9 + 10, "output.bias": 9} if output == "softmax" else {}
    for name, size in sizes.items():
        largest, bound = network.get_parameter(name).abs().max(), (6 / size) ** 0.5
        assert 0.5 * bound < largest <= bound
    if output == "hsigmoid":  # a binary node has the difference of two scores
        assert (6 / 12) ** 0.5 < network.output.weight.abs().max() <= 2 * (6 / 12) ** 0.5
        assert network.output.bias.abs().max() <= 2 * 3**0.5


def test_an_unknown_output_is_named() -> None:
    with pytest.raises(ValueError, match="must be 'softmax' or 'hsigmoid', got 'adaptive'"):
        make_output("adaptive", 4, 7, 0)


def draw(n_strings: int, n_symbols: int = 9, max_length: int = 4, seed: int = 0) -> tuple[list[list[int]], ...]:
    generator = torch.Generator().manual_seed(seed)
    pair = draw_strings(n_strings, n_symbols, max_length, generator=generator)
    for strings in pair:
        mask = strings >= 0
        assert strings.shape == (n_strings, max_length)
        assert ((strings >= -1) & (strings < n_symbols)).all()
        assert not (mask[:, 1:] & ~mask[:, :-1]).any()  # padding is at the end
    return tuple([[symbol for symbol in row if symbol >= 0] for row in strings.tolist()] for strings in pair)


def test_targets_are_the_reversed_strings() -> None:
    source, target = draw(200)
    assert target == [string[::-1] for string in source]


def test_lengths_and_symbols_are_equally_probable() -> None:
    source, _ = draw(20_000)
    for values, n_values in (
        ([len(string) - 1 for string in source], 4),
        ([string[0] for string in source], 9),
        ([string[-1] for string in source if len(string) > 1], 9),
    ):
        shares = torch.bincount(torch.tensor(values), minlength=n_values) / len(values)
        assert len(shares) == n_values
        assert (shares - 1 / n_values).abs().max() < 0.02


def test_each_purpose_has_its_own_random_numbers() -> None:
    keys = [(seed, purpose, number) for seed in (0, 1) for purpose in Purpose for number in (0, 1)]
    drawn = {key: generator_for(*key).initial_seed() for key in keys}
    assert len(set(drawn.values())) == len(keys)
    assert drawn == {key: generator_for(*key).initial_seed() for key in keys}
