"""``hashnlp lm train --model-type kneser-ney``, and the other commands with such a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sklearn_hashnlp import KneserNeyLanguageModel, load_model

COUNTS = ("--model-type", "kneser-ney", "--order", 3)


@pytest.fixture
def counted(hashnlp: Any, sentences: Path, tmp_path: Path) -> Path:
    assert hashnlp("lm", "train", sentences, "-m", tmp_path / "lm", *COUNTS).code == 0
    return tmp_path / "lm"


def test_the_saved_model_is_that_of_fit(
    hashnlp: Any, sentences: Path, corpus: list[str], tmp_path: Path
) -> None:
    command = ("lm", "train", sentences, "-m", tmp_path / "m", *COUNTS, "--valid", sentences)
    result = hashnlp(*command, "--arpa", tmp_path / "m.arpa")
    assert result.code == 0, result.err
    expected = KneserNeyLanguageModel(order=3).fit(corpus)
    assert f"Counted {sum(expected.n_ngrams_)} n-grams with a vocabulary of 12 words" in result.out
    assert f"Validation perplexity {expected.perplexity(corpus):.2f}" in result.out
    assert f"Saved in {tmp_path / 'm'} and {tmp_path / 'm.arpa'}" in result.out
    for model in (
        load_model(tmp_path / "m"),
        KneserNeyLanguageModel.load_arpa(tmp_path / "m.arpa"),
    ):
        assert model.score_samples(corpus).tolist() == expected.score_samples(corpus).tolist()
    report = hashnlp(*command, "--json").json
    assert (report["n_ngrams"], report["discounts"]) == (
        expected.n_ngrams_,
        expected.discounts_.tolist(),
    )
    assert report["valid_perplexity"] == expected.perplexity(corpus)
    assert hashnlp(*command, "--quiet").out == f"{expected.perplexity(corpus):.4f}\n"


def test_options_reach_the_model(hashnlp: Any, sentences: Path, tmp_path: Path) -> None:
    words = (
        "--set",
        "min_ngram_counts=1,1,2",
        "--set",
        "max_features=7",
        "--set",
        "min_count=2",
        "--lowercase",
    )
    words += ("--set", "special_tokens=('<b>', '<e>', 'UNK')")
    assert hashnlp("lm", "train", sentences, "-m", tmp_path / "m", *COUNTS, *words).code == 0
    model = load_model(tmp_path / "m")
    expected = {"order": 3, "min_ngram_counts": (1, 1, 2), "max_features": 7, "min_count": 2}
    expected |= {"special_tokens": ("<b>", "<e>", "UNK")}
    assert {name: model.get_params()[name] for name in expected} == expected


def test_capitals_of_special_tokens_are_none_of_the_text(
    hashnlp: Any, sentences: Path, tmp_path: Path
) -> None:
    words = ("--lowercase", "--set", "special_tokens=('[B]', '[E]', 'UNK')")
    assert hashnlp("lm", "train", sentences, "-m", tmp_path / "m", *COUNTS, *words).code == 0
    lowercase, capitals = (
        hashnlp("lm", "score", "-m", tmp_path / "m", stdin=line)
        for line in ("the cat UNK\n", "The CAT UNK\n")
    )
    assert "words are lowercased" in capitals.err
    assert capitals.out.split("\t")[0] == lowercase.out.split("\t")[0]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ([*COUNTS, "--epochs", 3], 2, "--model-type kneser-ney has no --epochs"),
        ([*COUNTS, "--checkpoint-dir", "p"], 2, "--model-type kneser-ney has no --checkpoint-dir"),
        ([*COUNTS, "--set", "tree=cluster"], 2, "KneserNeyLanguageModel has no parameter 'tree'"),
        (
            [*COUNTS, "--set", "min_ngram_counts=1,x"],
            2,
            "The 'min_ngram_counts' parameter of KneserNeyLanguageModel",
        ),
        (
            ["--set", "min_ngram_counts=1,2"],
            2,
            "HsigmoidLanguageModel has no parameter 'min_ngram_counts'",
        ),
        (["--arpa", "model.arpa"], 2, "--arpa needs --model-type kneser-ney"),
        (
            [*COUNTS, "--arpa", "no/x.arpa"],
            1,
            "no/x.arpa: no ARPA file can be written there (No such file or directory)",
        ),
        (
            [*COUNTS, "--arpa", "x.arpa.zip"],
            1,
            "x.arpa.zip: an ARPA file cannot be written as a zip archive",
        ),
    ],
)
def test_options_that_cannot_work_are_refused_before_training(
    hashnlp: Any, sentences: Path, tmp_path: Path, words: list[Any], code: int, message: str
) -> None:
    result = hashnlp("lm", "train", sentences, "-m", tmp_path / "m", *words)
    assert (result.code, result.err.count("\n")) == (code, 1)
    assert message in result.err
    assert not (tmp_path / "m").exists()


def test_the_other_commands_read_it(
    hashnlp: Any, counted: Path, sentences: Path, corpus: list[str]
) -> None:
    model = load_model(counted)
    score = hashnlp("lm", "score", "-m", counted, sentences, "--perplexity", "--quiet")
    assert float(score.out) == pytest.approx(model.perplexity(corpus), abs=1e-3)
    assert (
        hashnlp("lm", "predict", "-m", counted, stdin="the cat\n").out.split()
        == model.predict(["the cat"]).tolist()
    )
    assert (
        hashnlp("lm", "sample", "-m", counted, "--seed", 1).out
        == " ".join(model.sample(1, 1)[0]) + "\n"
    )
    assert hashnlp("lm", "test", "-m", counted, sentences).code == 0
    assert (
        f"{model.n_ngrams_[0]} + {model.n_ngrams_[1]} + {model.n_ngrams_[2]}"
        in hashnlp("info", counted).out
    )
    assert hashnlp("info", counted, "--json").json["n_ngrams"] == model.n_ngrams_
    nearest = hashnlp("lm", "nearest", "-m", counted, "cat")
    assert nearest.code == 1
    assert "is a KneserNeyLanguageModel, which has no word vectors" in nearest.err


def test_an_arpa_file_is_a_model(
    hashnlp: Any, counted: Path, sentences: Path, tmp_path: Path
) -> None:
    expected = hashnlp("lm", "score", "-m", counted, sentences)
    for suffix in (".gz", ".bz2", ".xz"):
        load_model(counted).save_arpa(tmp_path / f"lm.arpa{suffix}")
        assert (
            hashnlp("lm", "score", "-m", tmp_path / f"lm.arpa{suffix}", sentences).out
            == expected.out
        )
    (tmp_path / "other.arpa").write_text("no model")
    result = hashnlp("lm", "score", "-m", tmp_path / "other.arpa", sentences)
    assert (result.code, result.err.count("\n")) == (1, 1)
    assert "line 2: expected the line \\data\\ of an ARPA file" in result.err
