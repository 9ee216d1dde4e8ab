"""The texts of benchmarks: validation rows, lines of files, and made-up documents."""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice

from benchmarks.common import synthetic_texts
from benchmarks.common.data import DataFolder, read_text, split
from tests.benchmarks.labeled_rows import rows


def test_a_validation_share_is_stratified():
    train, valid = split(rows(a=600, b=300, c=20, d=1), 0.1)
    assert Counter(valid.labels) == {"a": 60, "b": 30, "c": 2}
    assert len(train.texts) == 921 - 92
    assert not set(train.texts) & set(valid.texts)
    assert "d" in train.labels
    assert all(text.split()[0] == label for text, label in zip(*valid, strict=True))


def test_a_sample_of_lines_keeps_their_order(tmp_path):
    (tmp_path / "some").mkdir()
    lines = [f"line {number:02}" for number in range(50)]
    (tmp_path / "some" / "text.txt").write_text("\n \n".join(lines) + "\n", encoding="utf-8")
    assert read_text(DataFolder(tmp_path), "some", "text.txt") == lines
    few = read_text(DataFolder(tmp_path, rows=10), "some", "text.txt")
    assert len(few) == 10
    assert few == sorted(few)
    assert set(few) < set(lines)


def test_perturbed_documents_differ_in_a_share_of_their_words():
    real = rows(a=40, b=40)
    longer = real._replace(
        texts=[" ".join([text, *(f"{text[0]}{i}" for i in range(98))]) for text in real.texts]
    )

    def perturbed(seed):
        return list(islice(synthetic_texts.perturbed(longer, share=0.3, seed=seed), 1500))

    made = perturbed(1)
    assert made == perturbed(1) != perturbed(2)
    assert {len(text.split()) for text, _ in made} == {100}
    words = {word for text in longer.texts for word in text.split()}
    assert all(set(text.split()) <= words for text, _ in made)
    others = [
        word
        for text, label in made
        for word in text.split()
        if re.match("[ab][0-9]", word) and word[0] != label
    ]
    # half of three in ten come from the other label
    assert 0.12 < len(others) / (1500 * 100) < 0.17
    (first, second) = synthetic_texts.chunks(iter(made), 15, 10)
    assert [len(first.texts), len(second.texts)] == [10, 5]
    assert list(zip(*first, strict=True)) + list(zip(*second, strict=True)) == made[:15]
