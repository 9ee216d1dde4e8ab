"""Strings and the same backwards."""

from __future__ import annotations

import torch

from sklearn_hashnlp.experiments.recipes._reversal_strings import Purpose, draw_strings, generator_for


def draw(n_strings: int, n_symbols: int = 9, max_length: int = 4, seed: int = 0) -> tuple[list[list[int]], ...]:
    generator = torch.Generator().manual_seed(seed)
    pair = draw_strings(n_strings, n_symbols, max_length, generator=generator)
    for strings in pair:
        there = strings >= 0
        assert strings.shape == (n_strings, max_length)
        assert ((strings >= -1) & (strings < n_symbols)).all()
        assert not (there[:, 1:] & ~there[:, :-1]).any()  # padding stands at the end
    return tuple([[symbol for symbol in row if symbol >= 0] for row in strings.tolist()] for strings in pair)


def test_targets_are_the_strings_backwards() -> None:
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


def test_each_purpose_has_random_numbers_of_its_own() -> None:
    keys = [(seed, purpose, number) for seed in (0, 1) for purpose in Purpose for number in (0, 1)]
    drawn = {key: generator_for(*key).initial_seed() for key in keys}
    assert len(set(drawn.values())) == len(keys)
    assert drawn == {key: generator_for(*key).initial_seed() for key in keys}
