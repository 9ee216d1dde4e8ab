"""The scripts that measure time and memory: what they time, in which order, and what counts as
right.
"""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from sklearn.feature_extraction.text import CountVectorizer

from benchmarks.common import serving_worker, timing
from benchmarks.common.data import DataFolder
from benchmarks.language import large_vocabulary
from benchmarks.speed import (
    bench_check,
    bench_cuda,
    bench_scale,
    bench_serving,
    bench_vectorizers,
    softmax_baselines,
    softmax_speed,
    topk_speed,
)
from tests.benchmarks.labeled_rows import FOLDER, run_script


def test_without_cuda_the_benchmark_says_what_it_needs(monkeypatch):
    monkeypatch.setattr(bench_cuda.torch.cuda, "is_available", lambda: False)
    with pytest.raises(SystemExit, match="torch sees no CUDA device"):
        bench_cuda.main(["--data", "nowhere"])


def test_methods_are_compared_within_a_round_and_alternate_in_order():
    # the median of the ratios 2, 3 and 8
    assert timing.median_ratio([20.0, 90.0, 8.0], [10.0, 30.0, 1.0]) == 3
    assert timing.summarize_seconds([3.0, 1.0, 2.0]) == {"median": 2.0, "all": [3.0, 1.0, 2.0]}
    orders = [timing.order_of_round(["a", "b", "c"], round_) for round_ in (1, 2, 3)]
    assert orders == [["a", "b", "c"], ["c", "b", "a"], ["a", "b", "c"]]
    assert bench_scale.slope([(n, 3 * n**1.5) for n in (10, 100, 1000)]) == pytest.approx(1.5)


def test_classes_are_drawn_by_their_counts():
    assert large_vocabulary.zipf_counts(1000)[:4].tolist() == [
        10**9,
        10**9 // 2,
        10**9 // 3,
        10**9 // 4,
    ]
    drawn, other = (
        large_vocabulary.draw_classes(np.array([0, 3, 0, 1]), (20, 1000), seed=seed)
        for seed in (0, 1)
    )
    assert drawn.shape == (20, 1000)
    shares = np.bincount(drawn.ravel(), minlength=4) / drawn.numel()
    assert shares == pytest.approx([0, 0.75, 0, 0.25], abs=0.02)
    assert not torch.equal(drawn, other)


@pytest.mark.parametrize(
    ("classes", "right"),
    [
        ([[1, 3]], True),
        ([[1, 2]], True),
        ([[3, 1]], False),
        ([[1, 0]], False),
        ([[1, 1]], False),
        ([[3, 3]], False),
    ],
    ids=[
        "as they are",
        "a tie broken otherwise",
        "in another order",
        "another class",
        "one class twice",
        "tied twice",
    ],
)
def test_a_search_finds_the_most_probable_class_up_to_ties(classes, right):
    log_probs = torch.tensor([[-4.0, -1.0, -2.000001, -2.0]])
    assert topk_speed.same_but_ties(log_probs, torch.tensor(classes)) is right


@pytest.mark.parametrize("output", ["softmax", "adaptive"])
def test_the_baseline_learns_the_estimators_windows_in_a_plain_torch_loop(tmp_path, output):
    (tmp_path / "ptb").mkdir()
    for file, times in (("train.txt", 40), ("valid.txt", 2)):
        (tmp_path / "ptb" / file).write_text(" a b c d e \n\n d e a b\n" * times, encoding="utf-8")
    ptb = softmax_speed.read_ptb(DataFolder(tmp_path))
    assert (ptb.n_classes, len(ptb.train_words.targets), len(ptb.valid_words.targets)) == (
        7,
        40 * 11,
        2 * 11,
    )
    assert len(ptb.train) == 80
    sizes = {"order": 5, "embedding_dim": 4, "hidden_size": 8}
    baseline = softmax_baselines.LanguageBaseline(
        output, ptb.n_classes, **sizes, learning_rate=0.05, linear=True
    )
    contexts, targets = ptb.valid_words
    with torch.no_grad():
        by_hand = -baseline.model.log_prob(contexts).gather(1, targets.unsqueeze(1)).mean()
    before = baseline.perplexity(ptb.valid_words)
    assert before == pytest.approx(by_hand.exp().item(), rel=1e-5)
    baseline.train(ptb.train_words, epochs=50)
    # one step an epoch: the last of fifty
    assert baseline.optimizer.param_groups[0]["lr"] == pytest.approx(0.05 / 50)
    assert baseline.perplexity(ptb.valid_words) < 1.6 < before


def test_exported_predictors_are_measured_at_each_level_and_size(data, capsys):
    models = run_script("bench_on_device", data)["models"]
    sizes = [(one["level"], one["hidden layers"][0]) for one in models]
    assert sizes == [("documents", 128), ("words", 128), ("documents", 256), ("words", 256)]
    assert all(one["bytes after"] < one["bytes before"] / 3 for one in models)
    assert all(one["agreement, test"] > 90 for one in models)
    assert [one["file bytes"] < 300_000 for one in models] == [True, True, False, False]
    assert "words" in capsys.readouterr().out


def test_a_serving_process_is_measured(tmp_path):
    (tmp_path / "upper.py").write_text(
        "def predict(texts):\n    return [text.upper() for text in texts]\n"
    )
    (tmp_path / "texts.json").write_text(json.dumps(["a", "b"] * 50))
    run = bench_serving.run_worker("exported", str(tmp_path / "upper.py"), tmp_path / "texts.json")
    assert 0 < run["start s"] < 5
    assert 5 < run["memory MiB"] < 100
    assert 0 <= run["single ms"] <= run["single p99 ms"]
    assert run["threads texts/s"] > 100
    command = json.dumps([bench_serving.sys.executable, "-c", "print(input())"])
    run = bench_serving.run_worker("command", command, tmp_path / "texts.json")
    assert 0 < run["start s"] < 5
    assert run["memory MiB"] > 5


def test_the_summary_of_serving_is_the_median_of_the_processes():
    runs = [
        {"start s": start, "memory MiB": memory}
        for start, memory in ((1.0, 20.0), (3.0, 10.0), (2.0, 30.0))
    ]
    assert bench_serving.summary(runs) == {"start s": 2.0, "memory MiB": 20.0, "runs": runs}
    assert serving_worker.percentile([float(value) for value in range(100)], 99) == 99
    assert serving_worker.percentile([5.0], 99) == pytest.approx(5)


MEASURED = {
    "speed": {"vectorizer": 20.0},
    "start": {"start": 1.0},
    "memory": {"memory of train, MiB": 100.0},
}


def check(**changes):
    measured = {kind: dict(figures) for kind, figures in MEASURED.items()}
    for kind, value in changes.items():
        measured[kind] = dict.fromkeys(measured[kind], value)
    return bench_check.report(measured, MEASURED | {"tolerance": 0.75})


@pytest.mark.parametrize(
    ("kind", "good", "bad"), [("speed", 15, 14.9), ("start", 1.33, 1.34), ("memory", 133, 134)]
)
def test_a_figure_within_the_tolerance_passes_and_a_worse_one_fails(kind, good, bad, capsys):
    assert check() == check(**{kind: good}) == 0
    assert (
        "bench-check passed: all 3 figures are within 75% of what was recorded"
        in capsys.readouterr().out
    )
    assert check(**{kind: bad}) == 1
    last, name = capsys.readouterr().out.splitlines()[-1], next(iter(MEASURED[kind]))
    assert last == f"bench-check FAILED: worse than 75% of what was recorded: {name}"
    assert bench_check.report(MEASURED, MEASURED | {kind: {}}) == 1
    assert (
        f"no figure is recorded of: {name}. Record them with --record." in capsys.readouterr().out
    )
    assert bench_check.report(MEASURED | {kind: {}}, MEASURED) == 1
    assert f"recorded but not measured: {name}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--record", "--rows", "9"], "--record needs all rows, or --output"),
        (["--rounds", "0"], "--rounds must be at least 1, got 0"),
        (["--output", "nowhere.json"], "no figures are recorded in nowhere.json"),
    ],
)
def test_invalid_arguments_are_refused_before_measuring(arguments, message, capsys, tmp_path):
    with pytest.raises(SystemExit):
        bench_check.main(["--data", str(tmp_path), *arguments])
    assert message in capsys.readouterr().err


def test_seconds_are_compared_in_turns():
    calls = []
    ratio = bench_check.ratio_of(
        lambda: calls.append("theirs") or sum(range(10**6)), lambda: calls.append("ours"), rounds=3
    )
    assert ratio > 10
    assert calls == ["ours", *["ours", "theirs"], *["theirs", "ours"], *["ours", "theirs"]]
    assert (
        0 < bench_check.processor_seconds([bench_check.sys.executable, "-S", "-c", "input()"]) < 5
    )


def test_vocabularies_are_timed_if_their_matrices_are_the_same(monkeypatch):
    def count(**parameters):
        return CountVectorizer(ngram_range=parameters["ngram_range"])

    texts = ["A fine, funny film", "A dull, dull film"] * 3
    result = bench_vectorizers.measure_vocabulary(texts, SimpleNamespace(CountVectorizer=count), 2)
    assert result["columns"] == 8
    assert len(result["seconds"]) == 3
    assert bench_vectorizers.vocabulary({"vocabulary": result}).count(" s |") == 6
    binary = CountVectorizer(ngram_range=(1, 2), binary=True)
    other = SimpleNamespace(CountVectorizer=lambda **_: binary)
    with pytest.raises(AssertionError):
        bench_vectorizers.measure_vocabulary(texts, other, 2)


def test_every_recorded_figure_is_one_that_is_measured():
    recorded = json.loads((FOLDER / "results" / "check.json").read_text(encoding="utf-8"))
    assert recorded["tolerance"] == bench_check.TOLERANCE
    assert {kind: len(recorded[kind]) for kind in MEASURED} == {"speed": 4, "start": 2, "memory": 2}
    assert recorded["speed"]["vectorizer, words 1-2, times scikit-learn"] > 10
