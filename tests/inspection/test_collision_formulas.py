"""Expected collisions, held to enumerations of all hash functions of tiny sizes."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.inspection._collision_formulas import (
    Sizes,
    any_order_chance,
    expected_pairs,
    pair_chance,
    pair_dispersion,
    sharing_chance,
    source_bound,
)

KINDS = [(variant, what) for variant in ("improved", "paper") for what in ("embedding", "components", "any order")]


def embeddings(variant: str, sizes: Sizes, n_words: int) -> Iterator[list[tuple[int, tuple[int, ...]]]]:
    """Give the rows and slots of all words, for all ways in which random functions may hash them."""
    n, buckets, hashes = sizes
    choices = list(product(range(buckets), repeat=hashes))
    for rows in product(range(n), repeat=n_words):
        for slots in product(choices, repeat=n_words if variant == "improved" else n):
            yield [(row, slots[word] if variant == "improved" else slots[row]) for word, row in enumerate(rows)]


def shared_pairs(what: str, words: list[tuple[int, tuple[int, ...]]]) -> int:
    kept = {
        "embedding": lambda word: word,
        "components": lambda word: word[1],
        "any order": lambda word: (word[0], sorted(word[1])),
    }[what]
    return sum(kept(one) == kept(other) for one, other in combinations(words, 2))


@pytest.mark.parametrize(("variant", "what"), KINDS)
@pytest.mark.parametrize(("sizes", "n_words"), [(Sizes(2, 2, 2), 2), (Sizes(3, 2, 1), 3), (Sizes(2, 3, 1), 4)])
def test_mean_and_dispersion_are_those_of_all_functions(variant: str, what: str, sizes: Sizes, n_words: int) -> None:
    counts = [shared_pairs(what, words) for words in embeddings(variant, sizes, n_words)]
    mean = Fraction(sum(counts), len(counts))
    variance = Fraction(sum(count**2 for count in counts), len(counts)) - mean**2
    assert expected_pairs(n_words, pair_chance(variant, what, sizes)) == pytest.approx(float(mean))
    if (variant, what) != ("improved", "any order") or sizes.n_hashes == 1:
        assert pair_dispersion(variant, what, n_words, sizes) == pytest.approx(float(variance / mean))


@given(st.integers(2, 4), st.integers(1, 3))
def test_orders_are_counted_right(buckets: int, hashes: int) -> None:
    picks = [sorted(pick) for pick in product(range(buckets), repeat=hashes)]
    same = sum(one == other for one in picks for other in picks)
    assert any_order_chance(buckets, hashes) == pytest.approx(same / len(picks) ** 2)


@given(st.integers(2, 10**6))
def test_two_components_have_two_orders(buckets: int) -> None:
    assert any_order_chance(buckets, 2) == pytest.approx(2 / buckets**2 - 1 / buckets**3)


@pytest.mark.parametrize("variant", ["improved", "paper"])
@pytest.mark.parametrize(("sizes", "n_words"), [(Sizes(2, 2, 1), 3), (Sizes(3, 3, 1), 3), (Sizes(3, 2, 1), 4)])
def test_the_sources_formulas_are_upper_bounds(variant: str, sizes: Sizes, n_words: int) -> None:
    found = list(embeddings(variant, sizes, n_words))
    # The paper's counts words whose components alone are shared, too.
    share = Fraction(
        sum(
            any(words[0] == other or (variant == "paper" and words[0][1] == other[1]) for other in words[1:])
            for words in found
        ),
        len(found),
    )
    assert float(share) <= source_bound(variant, n_words, sizes) + 1e-12
    assert float(share) > 0


def test_the_sources_example_and_the_checked_case() -> None:
    great, small = Sizes.parse("10000000:1000000:2"), Sizes.parse("500:30:2")
    q = pair_chance("improved", "embedding", great)
    assert q == 1e-19
    assert expected_pairs(10**9, q) == pytest.approx(0.05)
    assert sharing_chance(10**9, q) == pytest.approx(1e-10)
    assert source_bound("improved", 10**9, great) == pytest.approx(0.0010, abs=5e-5)
    assert source_bound("paper", 10**9, great) == pytest.approx(1)
    assert pair_chance("paper", "components", small) == pytest.approx(1 / 500 + (1 - 1 / 500) / 900)
    assert sharing_chance(4000, pair_chance("improved", "embedding", small)) == pytest.approx(0.0088, abs=5e-5)
    assert source_bound("improved", 4000, small) == pytest.approx(0.988, abs=5e-4)


def test_one_word_collides_with_none_and_certain_collisions_are_certain() -> None:
    assert (expected_pairs(1, 0.5), sharing_chance(1, 0.5), sharing_chance(1, 1.0)) == (0, 0, 0)
    assert sharing_chance(2, 1.0) == 1


@pytest.mark.parametrize(
    "text",
    [
        *("", "500:30", "500:30:2:1", "500:30:x", "1:30:2", "500:1:2", "500:30:0"),
        *("2147483648:30:2", "500:2147483648:2", "500:30:31"),
    ],
)
def test_sizes_of_another_form_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=f"n:B:k, such as 500:30:2, .* got '{text}'"):
        Sizes.parse(text)


def test_the_largest_sizes_have_chances() -> None:
    sizes = Sizes.parse(f"{2**31 - 1}:{2**31 - 1}:30")
    for variant, what in (("improved", "embedding"), ("improved", "any order"), ("paper", "components")):
        assert 0 < pair_chance(variant, what, sizes) < 1e-9
    assert 0 < any_order_chance(2, 30) < 1


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ValueError, match=r"out of .*got \('standard', 'embedding'\)"):
        pair_chance("standard", "embedding", Sizes(2, 2, 2))
