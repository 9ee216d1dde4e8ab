"""Networks that learn to reverse strings."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from sklearn_hashnlp.experiments.recipes._reversal import REVERSAL
from sklearn_hashnlp.experiments.recipes._reversal_strings import draw_strings
from sklearn_hashnlp.experiments.recipes._reversal_training import Learner, make_output, time_layers

SMALL = replace(REVERSAL.quick, n_symbols=6, embedding_dim=16, encoder_size=24, decoder_size=24, learning_rate=0.01)
OUTPUTS = ["softmax", "hsigmoid"]


def strings(n_strings: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    return draw_strings(n_strings, 6, 3, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("output", OUTPUTS)
def test_a_network_learns(output: str) -> None:
    learner, train = Learner(output, SMALL, 0), strings(300)
    before = learner.loss(*train)
    assert learner.exact_match(*train)[0] < 0.5
    for _ in range(30):
        assert learner.learn(*train) > 0
    assert learner.passes == 30
    assert learner.loss(*train) < before / 5
    assert learner.exact_match(*strings(100, seed=1))[0] > 0.9


@pytest.mark.parametrize("output", OUTPUTS)
def test_the_same_seed_gives_the_same_network_whatever_torch_is_set_to(output: str) -> None:
    train, found, state = strings(40), [], torch.random.get_rng_state()
    threads = torch.get_num_threads()
    try:
        for number, seed in ((1, 0), (2, 0), (1, 1)):
            torch.set_num_threads(number)
            learner = Learner(output, SMALL, seed)
            with torch.no_grad():
                learner.learn(*train)
            found.append([parameter.detach().clone() for parameter in learner.network.parameters()])
    finally:
        torch.set_num_threads(threads)
    assert torch.equal(state, torch.random.get_rng_state())
    assert all(torch.equal(a, b) for a, b in zip(found[0], found[1], strict=True))
    assert not any(torch.equal(a, b) for a, b in zip(found[0], found[2], strict=True))


def test_all_but_the_output_layer_starts_the_same() -> None:
    one, other = (dict(Learner(output, SMALL, 0).network.named_parameters()) for output in OUTPUTS)
    for name in one:
        assert name.startswith("output.") or torch.equal(one[name], other[name])


def test_warming_up_learns_nothing() -> None:
    train = strings(40)
    learners = [Learner("hsigmoid", SMALL, 0) for _ in range(2)]
    learners[0].warm_up(*train)
    for learner in learners:
        learner.learn(*train)
    assert learners[0].loss(*train) == learners[1].loss(*train)


def test_exact_match_counts_whole_strings(monkeypatch: pytest.MonkeyPatch) -> None:
    learner, (source, target) = Learner("softmax", SMALL, 0), strings(500)
    wrong = target.clone()
    wrong[7, 0] = (wrong[7, 0] + 1) % 6  # one symbol
    wrong[300] = torch.tensor([target[300, 0], -1, -1]) if target[300, 1] >= 0 else torch.tensor([0, 0, 0])
    parts = iter(torch.split(torch.nn.functional.pad(wrong, (0, 2), value=-1), 250))
    monkeypatch.setattr(learner.network, "generate", lambda _source: next(parts))
    assert learner.exact_match(source, target)[0] == 498 / 500


def test_layers_are_timed_on_their_own() -> None:
    layers = {output: make_output(output, 4, 7, 0) for output in OUTPUTS}
    times = time_layers(layers, in_features=4, n_classes=7, rows=5, repeats=3)
    assert list(times) == OUTPUTS
    assert all(seconds > 0 for seconds in times.values())


def test_an_output_that_is_none_is_named() -> None:
    with pytest.raises(ValueError, match="must be 'softmax' or 'hsigmoid', got 'adaptive'"):
        make_output("adaptive", 4, 7, 0)
