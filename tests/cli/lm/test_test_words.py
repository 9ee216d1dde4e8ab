"""``hashnlp lm test``: predicted and true words, hit rate."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sklearn_hashnlp import CacheLanguageModel, HsigmoidLanguageModel, InterpolatedLanguageModel
from sklearn_hashnlp.cli.lm import _test_words
from sklearn_hashnlp.language._tokenizer import sentence_windows
from sklearn_hashnlp.persistence import load_model, save_model

LINES = ["the cat sat", "cat sat", "a long way to the dog saw", "the cat sat on the mat </s>", "sat on zebra"]


def test_the_last_word_is_predicted_from_the_words_before(hashnlp: Any, lm: Path, tmp_path: Path) -> None:
    model = load_model(lm)
    (tmp_path / "lines.txt").write_text("\n".join(LINES))
    for search in ("exact", "greedy"):
        predicted = model.predict([line.split()[:-1] for line in LINES], search).tolist()
        true = [line.split()[-1] for line in LINES]
        n_hits = sum(one == other for one, other in zip(predicted, true, strict=True))
        words = "".join(f"{one}\t{other}\n" for one, other in zip(predicted, true, strict=True))
        rate = f"Hit rate {n_hits / 5:.4f} ({n_hits} of 5 words)\n"
        arguments = ["lm", "test", "--model", lm, "--search", search, tmp_path / "lines.txt"]
        result = hashnlp(*arguments)
        assert (result.code, result.out, result.err) == (0, words + rate, "")
        assert hashnlp(*arguments, "--batch-size", 2).out == words + rate
        assert hashnlp(*arguments, "--quiet").out == words + rate
        assert hashnlp(*arguments, "--summary").out == hashnlp(*arguments, "--summary", "--quiet").out == rate
        assert 1 <= n_hits <= 4


def test_only_the_last_words_of_the_context_are_read(hashnlp: Any, lm: Path) -> None:
    long, short = "mat mat dog the cat sat", "the cat sat"
    out = hashnlp("lm", "test", "-m", lm, stdin=f"{long}\n{short}\n").out.splitlines()
    assert out[0] == out[1]
    model = load_model(lm)
    out = hashnlp("lm", "test", "-m", lm, stdin="the\n").out.splitlines()
    assert out[0] == f"{model.predict([''])[0]}\tthe"


def test_every_word_predicts_every_window_of_training(hashnlp: Any, lm: Path, sentences: Path) -> None:
    model = load_model(lm)
    lines = sentences.read_text().splitlines()
    expected = []
    for line in lines:
        expected += sentence_windows(line, order=3, padding="full") if line else [None]
    windows = model._tokenizer.read([line for line in lines if line])
    contexts, _ = windows.take(np.arange(len(windows)))
    names = list(model.vocabulary_)
    predicted = iter(names[word_id] for word_id in model._log_probs(contexts).argmax(axis=1))
    words = [f"{next(predicted)}\t{window[1]}" if window else "" for window in expected]
    out = hashnlp("lm", "test", "-m", lm, "--every-word", sentences).out.splitlines()
    assert out[:-1] == words
    assert out[6] == "</s>\t</s>"
    n_hits = sum(len(set(word.split("\t"))) == 1 for word in words if word)
    assert out[-1] == f"Hit rate {n_hits / len(contexts):.4f} ({n_hits} of {len(contexts)} words)"


def test_every_word_of_a_reference_model_omits_the_first_words(hashnlp: Any, tmp_path: Path) -> None:
    model = HsigmoidLanguageModel(order=5, embedding_dim=2, hidden_size=2, max_epochs=1, padding="reference")
    save_model(model.fit(["I have a dream that one day"]), tmp_path / "m")
    arguments = ["lm", "test", "-m", tmp_path / "m", "--every-word", "--json"]
    out = hashnlp(*arguments, stdin="I have a dream that one day\nI have\n").out.splitlines()
    assert [json.loads(line)["true"] for line in out[:-1]] == ["dream", "that", "one", "day", "</s>"]
    assert json.loads(out[-1])["n_words"] == 5


TEXT = [
    "the cat sat on the mat",
    "",
    "the cat saw zebra",
    "<s> on </s> mat the cat </s>",
    "a dog saw",
    "the dog sat",
] * 3


@cache
def models_across_sentences() -> dict[str, Any]:
    """Models whose contexts hold words of earlier sentences, all of fewer words than ``TEXT`` has."""
    corpus = [line for line in TEXT if line and "<" not in line]
    cache = CacheLanguageModel(cache_size=9, decay=0.9).fit(corpus)
    sizes: dict[str, Any] = {"order": 3, "embedding_dim": 4, "hidden_size": 4, "max_epochs": 9, "random_state": 0}
    network = HsigmoidLanguageModel(
        **sizes, far_context=6, across_sentences=True, learning_rate=2.0, vocabulary=cache.vocabulary_
    ).fit(corpus)
    within = HsigmoidLanguageModel(**sizes, vocabulary=cache.vocabulary_).fit(corpus)
    mixture = InterpolatedLanguageModel([within, cache], prefit=True, weights=[0.3, 0.7]).fit()
    return {"cache": cache, "network": network, "mixture": mixture}


@pytest.mark.parametrize("part", [2**22, 20])
@pytest.mark.parametrize("kind", ["cache", "network", "mixture"])
def test_every_word_reads_the_earlier_lines_where_the_model_does(
    hashnlp: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, part: int
) -> None:
    model = models_across_sentences()[kind]
    save_model(model, tmp_path / "m")
    words = " ".join(f"{line} </s>" for line in TEXT if line)
    words = words.replace("<s> on </s> mat the cat </s>", "on <unk> mat the cat").split()
    contexts = [words[:end] for end in range(len(words))]
    log_probs = np.log(model.predict_proba(contexts))
    ids = [model.vocabulary_.get(word, model.vocabulary_["<unk>"]) for word in words]
    scores = model.score_samples([line for line in TEXT if line])
    assert log_probs[np.arange(len(ids)), ids].sum() == pytest.approx(scores.sum(), rel=1e-5)
    monkeypatch.setattr(_test_words, "_MAX_CONTEXT_WORDS", part)
    command = ["lm", "test", "-m", tmp_path / "m", "--every-word"]
    predicted = model.predict(contexts).tolist()
    pairs = [f"{one}\t{other}" for one, other in zip(predicted, words, strict=True)]
    for size in (2, 2000):
        out = hashnlp(*command, "--batch-size", size, stdin="\n".join(TEXT)).out.splitlines()
        assert [line for line in out[:-1] if line] == pairs
        assert out.count("") == 3
    alone = hashnlp(*command, stdin=TEXT[-1]).out.splitlines()
    assert alone[:-1] != pairs[-4:]
    top = hashnlp(*command, "--top", 2, stdin="\n".join(TEXT)).out.splitlines()[-2]
    assert top.split("\t")[:2] == [word for word, _ in model.predict_topk([words[:-1]], 2)[0]]


def test_contexts_and_batches_have_a_limited_size(hashnlp: Any, lm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lengths: list[list[int]] = []

    def predict(self: Any, contexts: Any, search: str) -> Any:
        lengths.append([*map(len, contexts)])
        return np.array(["the"] * len(contexts))

    monkeypatch.setattr(HsigmoidLanguageModel, "predict", predict)
    assert hashnlp("lm", "test", "-m", lm, "--every-word", stdin="the cat sat on the mat\nthe\n").code == 0
    assert [length for batch in lengths for length in batch] == [0, 1, 2, 2, 2, 2, 2, 0, 1]
    lengths.clear()
    out = hashnlp("lm", "test", "-m", lm, "--batch-size", 2, "--quiet", stdin="\n".join(LINES)).out
    assert ([*map(len, lengths)], len(out.splitlines())) == ([2, 2, 1], 6)


def test_top_and_json(hashnlp: Any, lm: Path) -> None:
    [row] = load_model(lm).predict_topk(["the cat"], 3)
    words = [word for word, _ in row]
    result = hashnlp("lm", "test", "-m", lm, "--top", 3, stdin=f"the cat {words[2]}\n")
    assert result.out == "\t".join([*words, words[2]]) + "\nHit rate 1.0000 (1 of 1 word)\n"
    out = hashnlp("lm", "test", "-m", lm, "-k", 3, "--json", stdin=f"the cat {words[1]}\n\nthe cat zebra\n").out
    assert [json.loads(line) for line in out.splitlines()] == [
        {"predicted": words, "true": words[1], "hit": True},
        {"predicted": words, "true": "zebra", "hit": False},
        {"hit_rate": 0.5, "n_hits": 1, "n_words": 2},
    ]
    out = hashnlp("lm", "test", "-m", lm, "--json", stdin=f"the cat {words[1]}\n").out
    assert json.loads(out.splitlines()[0]) == {"predicted": words[0], "true": words[1], "hit": False}


def test_an_unknown_word_is_a_hit_for_unk(hashnlp: Any, tmp_path: Path) -> None:
    model = HsigmoidLanguageModel(order=2, max_features=1, embedding_dim=4, hidden_size=4, max_epochs=30)
    model.set_params(random_state=0).fit(["a b", "a c", "a d"] * 20)
    assert model.predict(["a"]).tolist() == ["<unk>"]
    save_model(model, tmp_path / "m")
    out = hashnlp("lm", "test", "-m", tmp_path / "m", stdin="a zebra\n").out
    assert out == "<unk>\tzebra\nHit rate 1.0000 (1 of 1 word)\n"


def test_blank_lines_and_empty_input(hashnlp: Any, lm: Path) -> None:
    out = hashnlp("lm", "test", "-m", lm, stdin="\nthe cat sat\n\n").out.splitlines()
    assert [line == "" for line in out] == [True, False, True, False]
    for stdin, expected in (("", ""), ("\n", "\n")):
        result = hashnlp("lm", "test", "-m", lm, stdin=stdin)
        assert (result.code, result.out, result.err) == (0, expected, "No words to predict.\n")
    assert hashnlp("lm", "test", "-m", lm, "--json", stdin="").json == {"hit_rate": None, "n_hits": 0, "n_words": 0}


def test_greedy_search_without_a_tree_is_an_error_of_one_line(hashnlp: Any, tmp_path: Path) -> None:
    model = HsigmoidLanguageModel(output="softmax", embedding_dim=2, hidden_size=2, max_epochs=1)
    save_model(model.fit(["a b c"]), tmp_path / "m")
    result = hashnlp("lm", "test", "-m", tmp_path / "m", "--search", "greedy", stdin="a b\n")
    assert (result.code, result.out, len(result.err.splitlines())) == (1, "", 1)
    assert "search to be 'exact', since the model has no tree, got 'greedy'" in result.err
