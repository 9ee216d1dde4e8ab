"""``hashnlp lm test``: predicted and true words, hit rate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sklearn_hashnlp import HsigmoidLanguageModel
from sklearn_hashnlp.persistence import load_model, save_model

LINES = [
    "the cat sat",
    "cat sat",
    "a long way to the dog saw",
    "the cat sat on the mat </s>",
    "sat on zebra",
]


def test_the_last_word_is_predicted_from_the_words_before(
    hashnlp: Any, lm: Path, tmp_path: Path
) -> None:
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
        assert hashnlp(*arguments, "--quiet").out == words + rate
        assert (
            hashnlp(*arguments, "--summary").out
            == hashnlp(*arguments, "--summary", "--quiet").out
            == rate
        )
        assert 1 <= n_hits <= 4


def test_only_the_last_words_of_the_context_are_read(hashnlp: Any, lm: Path) -> None:
    long, short = "mat mat dog the cat sat", "the cat sat"
    out = hashnlp("lm", "test", "-m", lm, stdin=f"{long}\n{short}\n").out.splitlines()
    assert out[0] == out[1]
    model = load_model(lm)
    out = hashnlp("lm", "test", "-m", lm, stdin="the\n").out.splitlines()
    assert out[0] == f"{model.predict([''])[0]}\tthe"


def test_top_and_json(hashnlp: Any, lm: Path) -> None:
    [row] = load_model(lm).predict_topk(["the cat"], 3)
    words = [word for word, _ in row]
    result = hashnlp("lm", "test", "-m", lm, "--top", 3, stdin=f"the cat {words[2]}\n")
    assert result.out == "\t".join([*words, words[2]]) + "\nHit rate 1.0000 (1 of 1 word)\n"
    out = hashnlp(
        "lm", "test", "-m", lm, "-k", 3, "--json", stdin=f"the cat {words[1]}\n\nthe cat zebra\n"
    ).out
    assert [json.loads(line) for line in out.splitlines()] == [
        {"predicted": words, "true": words[1], "hit": True},
        {"predicted": words, "true": "zebra", "hit": False},
        {"hit_rate": 0.5, "n_hits": 1, "n_words": 2},
    ]
    out = hashnlp("lm", "test", "-m", lm, "--json", stdin=f"the cat {words[1]}\n").out
    assert json.loads(out.splitlines()[0]) == {
        "predicted": words[0],
        "true": words[1],
        "hit": False,
    }


def test_an_unknown_word_is_a_hit_for_unk(hashnlp: Any, tmp_path: Path) -> None:
    model = HsigmoidLanguageModel(
        order=2, max_features=1, embedding_dim=4, hidden_size=4, max_epochs=30
    )
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
    assert hashnlp("lm", "test", "-m", lm, "--json", stdin="").json == {
        "hit_rate": None,
        "n_hits": 0,
        "n_words": 0,
    }


def test_greedy_search_without_a_tree_is_an_error_of_one_line(hashnlp: Any, tmp_path: Path) -> None:
    model = HsigmoidLanguageModel(output="softmax", embedding_dim=2, hidden_size=2, max_epochs=1)
    save_model(model.fit(["a b c"]), tmp_path / "m")
    result = hashnlp("lm", "test", "-m", tmp_path / "m", "--search", "greedy", stdin="a b\n")
    assert (result.code, result.out, len(result.err.splitlines())) == (1, "", 1)
    assert "search to be 'exact', since the model has no tree, got 'greedy'" in result.err
