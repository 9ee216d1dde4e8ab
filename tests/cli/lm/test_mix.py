"""``hashnlp lm mix``: weights, perplexities, and a folder that the other commands read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sklearn_hashnlp import CacheLanguageModel, InterpolatedLanguageModel, KneserNeyLanguageModel
from sklearn_hashnlp.persistence import load_model, save_model

VALID = ["a dog sat on the cat", "the cat saw a rug", "a dog sat on the rug"]


@pytest.fixture
def folders(lm: Path, corpus: list[str], tmp_path: Path) -> list[Path]:
    """A network, and counts of the same words."""
    counts = KneserNeyLanguageModel(order=2, vocabulary=load_model(lm).vocabulary_).fit(corpus)
    save_model(counts, tmp_path / "counts")
    return [lm, tmp_path / "counts"]


@pytest.fixture
def valid(tmp_path: Path) -> Path:
    (tmp_path / "valid.txt").write_text("\n".join([VALID[0], "", *VALID[1:]]))
    return tmp_path / "valid.txt"


def test_the_folder_holds_the_mixture(
    hashnlp: Any, folders: list[Path], valid: Path, tmp_path: Path
) -> None:
    result = hashnlp("lm", "mix", *folders, "--valid", valid, "--model", tmp_path / "m", "--json")
    assert (result.code, result.err) == (0, "")
    members = [load_model(folder) for folder in folders]
    expected = InterpolatedLanguageModel(members, prefit=True).fit(X_valid=VALID)
    assert [row["model"] for row in result.json["models"]] == [str(folder) for folder in folders]
    assert [row["weight"] for row in result.json["models"]] == pytest.approx(
        expected.weights_.tolist()
    )
    assert [row["valid_perplexity"] for row in result.json["models"]] == [
        one.perplexity(VALID) for one in members
    ]
    assert result.json["valid_perplexity"] == expected.perplexity(VALID)
    assert (
        load_model(tmp_path / "m").score_samples(VALID).tobytes()
        == expected.score_samples(VALID).tobytes()
    )


def test_every_command_reads_the_folder(
    hashnlp: Any, folders: list[Path], valid: Path, tmp_path: Path
) -> None:
    members: list[Any] = [load_model(folder) for folder in folders]
    members += [CacheLanguageModel(cache_size=50, vocabulary=members[0].vocabulary_).fit(VALID)]
    model = InterpolatedLanguageModel(members, frequency_bins=True, context_length=1, prefit=True)
    save_model(model.fit(VALID, X_valid=VALID), tmp_path / "m")
    for command in ("predict", "test", "score"):
        answer = hashnlp("lm", command, "-m", tmp_path / "m", stdin="the dog saw the cat\n")
        assert (answer.code, len(answer.out.splitlines())) == (0, 2 if command == "test" else 1)
    assert hashnlp("lm", "sample", "-m", tmp_path / "m", "--seed", 0).code == 0
    assert hashnlp("lm", "test", "-m", tmp_path / "m", "--top", 2, valid).code == 0
    quiet = hashnlp("lm", "mix", tmp_path / "m", "--valid", valid, "-m", tmp_path / "again", "-q")
    assert quiet.out == f"{model.perplexity(VALID):.4f}\n"
    classifier = hashnlp("predict", "--model", tmp_path / "m", stdin="a dog\n")
    assert (classifier.code, "is a language model, not a text classifier" in classifier.err) == (
        1,
        True,
    )
    assert hashnlp("info", tmp_path / "m", "--json").json["n_words"] == len(model.vocabulary_)
    nearest = hashnlp("lm", "nearest", "-m", tmp_path / "m", "dog")
    assert (nearest.code, "has no word vectors" in nearest.err) == (1, True)
    greedy = hashnlp("lm", "test", "-m", tmp_path / "m", "--search", "greedy", stdin="a dog\n")
    assert (greedy.code, "--search greedy follows the tree" in greedy.err) == (1, True)


def test_a_cache_reads_all_lines_as_one_text(
    hashnlp: Any, lm: Path, corpus: list[str], tmp_path: Path
) -> None:
    lines = corpus[:4] * 300  # more than a batch
    cache = CacheLanguageModel(
        cache_size=5000, decay=1.0, vocabulary=load_model(lm).vocabulary_
    ).fit(corpus)
    save_model(cache, tmp_path / "cache")
    (tmp_path / "lines.txt").write_text("\n".join(lines))
    out = hashnlp("lm", "score", "-m", tmp_path / "cache", tmp_path / "lines.txt").out.splitlines()
    scores = [float(line.partition("\t")[0]) for line in out]
    assert scores == pytest.approx(cache.score_samples(lines), abs=1e-4)


def test_models_with_other_words_are_an_error_of_one_line(
    hashnlp: Any, lm: Path, valid: Path, tmp_path: Path
) -> None:
    save_model(KneserNeyLanguageModel().fit(["strange words"]), tmp_path / "other")
    result = hashnlp("lm", "mix", lm, tmp_path / "other", "--valid", valid, "-m", tmp_path / "m")
    assert (result.code, len(result.err.splitlines())) == (1, 1)
    assert "is a word of models[0], HsigmoidLanguageModel, but not of models[1]" in result.err
    assert not (tmp_path / "m").exists()
