"""The recipe ``hsigmoid-ptb``, on a tiny corpus."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from sklearn_hashnlp.experiments import get_recipe, run_recipe
from sklearn_hashnlp.language._windows import sentence_windows
from sklearn_hashnlp.persistence import load_model

RECIPE = get_recipe("hsigmoid-ptb")
TRAIN = ["the cat sat on the mat", "the dog sat on the rug", "a cat saw the dog", "a dog", "a dog saw the cat"] * 5
VALID = ["the cat sat on the rug", "no dog saw the zebra", "a cat"]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "ptb"
    folder.mkdir()
    (folder / "train.txt").write_text("".join(f" {sentence} \n" for sentence in TRAIN))
    (folder / "valid.txt").write_text("\n\n".join(VALID))
    return folder


def run(data: Path, seed: int = 0, **changes: Any) -> list[dict[str, Any]]:
    settings = replace(RECIPE.quick, data=str(data), batch_size=8, log_every=3, hidden_size=4, **changes)
    return list(run_recipe(RECIPE, settings=settings, seed=seed))


def decode_res(infer_res: Any, dict_size: int) -> list[int]:
    """The decoder of the source."""
    predict_lbls = []
    infer_res = infer_res > 0.5
    for probs in infer_res:
        idx = 0
        result = 1
        while idx < len(probs):
            result <<= 1
            if probs[idx]:
                result |= 1
            idx = idx * 2 + 2 if probs[idx] else idx * 2 + 1
        predict_lbls.append(result - dict_size)
    return predict_lbls


def test_every_pass_is_saved_and_measured(data: Path, tmp_path: Path) -> None:
    results = run(data, passes=3, checkpoint_dir=str(tmp_path / "passes"))
    assert [result["pass"] for result in results] == [1, 2, 3]
    (folder,) = (tmp_path / "passes").iterdir()
    windows = [window for line in VALID for window in sentence_windows(line, order=5, padding="reference")]
    assert len(windows) == 7  # of 8, 7 and 4 words with both marks
    n_steps = -(-sum(max(len(line.split()) + 2 - 4, 0) for line in TRAIN) // 8)
    for result in results:
        model = load_model(folder / f"epoch-0000{result['pass']}")
        assert result["valid_perplexity"] == pytest.approx(model.perplexity(VALID), rel=1e-6)
        assert (result["n_words"], result["n_vocabulary"]) == (7, 11)
        contexts = [context for context, _ in windows]
        true = np.array([word if word in model.vocabulary_ else "<unk>" for _, word in windows])
        words = list(model.vocabulary_)
        with torch.inference_mode():
            x = model.net_.module_.hidden(torch.from_numpy(model._tokenizer.contexts(contexts)))
            decoded = decode_res(model.net_.module_.output_layer.node_prob(x).numpy(), 11)
        assert result["hit_rate_greedy"] == np.mean(np.array([words[number] for number in decoded]) == true)
        best = np.array([words[number] for number in model.predict_proba(contexts).argmax(axis=1)])
        assert result["hit_rate_exact"] == np.mean(best == true)
        assert [entry[0] for entry in result["log"]] == list(range(3, n_steps + 1, 3))
    assert results[2]["train_loss"] < results[0]["train_loss"]


def test_the_network_is_that_of_the_source(data: Path, tmp_path: Path) -> None:
    run(data, passes=1, checkpoint_dir=str(tmp_path / "passes"))
    (folder,) = (tmp_path / "passes").iterdir()
    parameters = load_model(folder / "epoch-00001").get_params()
    wanted = {
        "order": 5,
        "output": "hsigmoid",
        "tree": "complete",
        "activation": "sigmoid",
        "dropout": 0.5,
        "embedding_dropout": 0.0,
        "init": "reference",
        "bias_learning_rate": 2.0,
        "padding": "reference",
        "direct_connections": False,
        "keep": "all",
        "embedding": "table",
    }
    assert {name: parameters[name] for name in wanted} == wanted
    assert (RECIPE.settings.log_every, RECIPE.settings.n_train, RECIPE.settings.n_valid) == (100, 0, 0)


def test_the_same_seed_gives_the_same(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def without_what_differs(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
        told = {"seconds", "settings", "seed"}
        return [{key: result[key] for key in result if key not in told} for result in results]

    first = without_what_differs(run(data))
    monkeypatch.setenv("HASHNLP_DATA", str(data.parent))
    again = list(run_recipe(RECIPE, settings=replace(RECIPE.quick, batch_size=8, log_every=3, hidden_size=4)))
    assert without_what_differs(again) == first
    assert "data" not in again[0]["settings"]
    assert without_what_differs(run(data, seed=1)) != first


def test_no_run_goes_on_with_the_passes_of_another(data: Path, tmp_path: Path) -> None:
    def losses(place: str, **changes: Any) -> list[float]:
        return [result["valid_loss"] for result in run(data, checkpoint_dir=place and str(tmp_path / place), **changes)]

    for changes in ({"seed": 0}, {"seed": 1}, {"learning_rate": 0.01}):
        assert losses("kept", **changes) == losses("", **changes)
    folders = sorted(path.name[:7] for path in (tmp_path / "kept").iterdir())
    assert folders == ["seed-0-", "seed-0-", "seed-1-"]
    assert losses("kept", seed=1) == losses("", seed=1)  # which is its own
    assert len(list((tmp_path / "kept").iterdir())) == 3


def test_a_word_that_is_not_known_is_unk(data: Path) -> None:
    (data / "train.txt").write_text("a b c <unk>\n" * 40)
    (data / "valid.txt").write_text("a b c zebra\n")
    *_, last = run(data, passes=40)
    assert (last["n_words"], last["hit_rate_greedy"], last["hit_rate_exact"]) == (2, 1.0, 1.0)


def test_fewer_sentences(data: Path) -> None:
    [result, _] = run(data, n_train=1, n_valid=1)
    assert (result["n_words"], result["n_vocabulary"]) == (4, 7)


def test_what_is_going_on_is_told(data: Path) -> None:
    lines: list[str] = []
    moves: list[tuple[int, int]] = []
    settings = replace(RECIPE.quick, data=str(data), log_every=2, batch_size=32)
    list(run_recipe(RECIPE, settings=settings, tell=lines.append, move=lambda *place: moves.append(place)))
    assert lines[0].startswith("  step 2   training perplexity")
    assert lines[-1].startswith("pass 2: hit rate ")
    assert moves == sorted(moves)
    assert moves[-1][0] == moves[-1][1]


def test_the_table_comes_from_the_lines_alone(data: Path) -> None:
    results = json.loads(json.dumps(run(data)))
    results[0] |= {"hit_rate_greedy": 0.125, "valid_loss": 0.5}
    [table] = RECIPE.report(results)
    assert table.rows[0][5] == "12.50%"
    assert table.notes == ["Best on valid.txt: pass 1 of seed 0, 7 words predicted"]


def test_an_interrupted_run_goes_on_with_its_passes(data: Path, tmp_path: Path) -> None:
    settings = replace(RECIPE.quick, data=str(data), batch_size=8, log_every=3, hidden_size=4)
    whole = list(run_recipe(RECIPE, settings=settings, folder=tmp_path))
    learned = {path: path.stat().st_mtime_ns for path in tmp_path.glob("passes/epoch-*/*")}
    [rest] = run_recipe(RECIPE, settings=settings, folder=tmp_path, known=whole[:1])
    assert rest == whole[1]  # the seconds, too: nothing was trained again
    assert {path: path.stat().st_mtime_ns for path in tmp_path.glob("passes/epoch-*/*")} == learned


def test_files_that_are_not_there_are_told(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FileNotFoundError, match=r"train\.txt"):
        run(data / "nowhere")
    (data / "valid.txt").write_text("\n")
    with pytest.raises(ValueError, match=r"valid\.txt holds no sentence"):
        run(data)
    monkeypatch.delenv("HASHNLP_DATA", raising=False)
    with pytest.raises(ValueError, match="name it by --set data=FOLDER"):
        list(run_recipe(RECIPE, settings=RECIPE.quick))
