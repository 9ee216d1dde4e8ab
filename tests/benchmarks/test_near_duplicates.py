"""The benchmark of near-duplicates: copies have the stated share of changed words, and both
searches find them.
"""

from __future__ import annotations

import sys
from collections import Counter

import numpy as np
import pytest

from benchmarks.accuracy import bench_near_duplicates
from benchmarks.common import near_duplicates
from tests.benchmarks.labeled_rows import run_script

# datasketch, with sets for signatures and all texts as candidates.
DATASKETCH = """
import numpy as np

class MinHash:
    @staticmethod
    def bulk(sets, num_perm, seed):
        return [MinHash(one, num_perm, seed) for one in sets]

    def __init__(self, words, num_perm, seed):
        generator = np.random.default_rng(seed)
        keys = [int.from_bytes(word[:6].ljust(6), "little") for word in words]
        keys = np.array(keys, dtype=np.uint64)
        factors = generator.integers(1, 2**63, size=num_perm, dtype=np.uint64)
        factors = factors * np.uint64(2) + np.uint64(1)
        self.hashvalues = (keys[:, None] * factors).min(axis=0)

class MinHashLSH:
    def __init__(self, threshold, num_perm):
        self.keys = []

    def insert(self, key, signature):
        self.keys.append(key)

    def query(self, signature):
        return self.keys
"""


def paragraphs(n, seed=0):
    generator = np.random.default_rng(seed)
    return [" ".join(f"w{i}" for i in generator.integers(10_000, size=40)) for _ in range(n)]


def test_copies_have_the_stated_share_of_changed_words():
    texts = paragraphs(300)
    planted = near_duplicates.plant(texts, seed=1)
    assert planted.texts[:300] == texts
    assert planted.originals[:300].tolist() == list(range(300))
    assert len(set(planted.originals[300:])) == len(planted.texts) - 300 == 30
    assert Counter(planted.rates[300:]) == dict.fromkeys(near_duplicates.RATES, 10)
    kept, lengths = [], []
    for copy, original, rate in list(zip(*planted, strict=True))[300:]:
        words = texts[original].split()
        common = (Counter(words) & Counter(copy.split())).total()
        kept.append(len(words) - common - round(rate * 40))
        lengths.append(len(copy.split()))
    # A changed word is missing in the copy, unless another follows it; a drawn word is hardly ever
    # one of the text.
    assert -25 < sum(kept) < -3
    assert max(kept) == 0
    assert {39, 40, 41} <= set(lengths)
    assert near_duplicates.plant(texts, seed=1).texts == planted.texts
    assert near_duplicates.plant(texts, seed=2).texts != planted.texts


def test_bits_are_searched_like_all_distances_one_by_one():
    texts = near_duplicates.plant(paragraphs(150), seed=0).texts
    pairs, _ = near_duplicates.search_bits(texts, "words", 560, 3, 0.4, None)
    projector = near_duplicates.SGNNProjector(n_projections=40, random_state=3)
    bits = projector.transform(near_duplicates.NGRAMS["words"]().fit_transform(texts))
    all_pairs = [
        (a, b, (bits[a] != bits[b]).mean())
        for a in range(len(texts))
        for b in range(a + 1, len(texts))
    ]
    expected = [pair for pair in all_pairs if pair[2] <= 0.4]
    assert len(expected) >= 15
    np.testing.assert_allclose(sorted(pairs.tolist()), expected)


def test_a_threshold_allows_a_given_number_of_false_positives():
    texts = ["a b c d e f", "a b c d e x", "g h i j k l", "a b c d e y"]
    rates = np.array([0, 0, 0, 0.1])
    planted = near_duplicates.Planted(texts, np.array([0, 1, 2, 0]), rates)
    pairs = np.array([[0, 3, 0.1], [0, 1, 0.2], [1, 2, 0.3], [0, 2, 0.3], [2, 3, 0.4]])
    with np.errstate(invalid="ignore"):
        all_of_them = near_duplicates.judge(planted, pairs)
        some = near_duplicates.judge(planted, pairs, most=1)
    assert (all_of_them["natural"], all_of_them["false positives"], all_of_them["distance"]) == (
        1,
        3,
        0.4,
    )
    # two have the distance 0.3
    assert (some["natural"], some["false positives"], some["distance"]) == (1, 0, 0.2)
    assert some["recall at 10%"] == 100


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_both_searches_run_on_few_rows(tmp_path, monkeypatch, capsys):
    (tmp_path / "wikipedia").mkdir()
    lines = [*paragraphs(400, seed=1), "too short", *paragraphs(1, seed=1)]
    (tmp_path / "wikipedia" / "paragraphs.txt").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "peers" / "datasketch").mkdir(parents=True)
    (tmp_path / "peers" / "datasketch" / "__init__.py").write_text(DATASKETCH, encoding="utf-8")
    (tmp_path / "peers" / "datasketch-9.dist-info").mkdir()
    monkeypatch.setattr(
        bench_near_duplicates, "in_new_process", lambda function, *rest: function(*rest)
    )
    monkeypatch.setattr(bench_near_duplicates, "SIZES", {"bits": (1120,), "MinHash": (128,)})
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "datasketch", raising=False)
    result = run_script(
        "bench_near_duplicates", tmp_path, "--seeds", "2", "--datasketch", str(tmp_path / "peers")
    )
    sys.modules.pop("datasketch")
    assert (result["paragraphs"], result["versions"]["datasketch"]) == (200, "9")
    for method, size, n_bytes in (("bits", "1120", 140), ("MinHash", "128", 512)):
        measured = result["methods"][method]
        assert measured["chosen"] in measured["tried"]
        cells = measured["sizes"][size]
        assert cells["bytes"] == n_bytes
        assert list(cells["runs"]) == ["0", "1"]
        assert all(
            run["recall at 5%"] == 100 and run["false positives"] <= 5
            for run in cells["runs"].values()
        )
        assert cells["twice"].keys() == set(bench_near_duplicates.COSTS)
    assert "| MinHash, 128 | 512 | " in capsys.readouterr().out
