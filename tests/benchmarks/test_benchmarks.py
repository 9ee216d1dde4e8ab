"""Tests of the benchmark scripts: their options, data splits, baselines, tables, and the figures the docs quote."""

import importlib
import json
import re
import sys
from collections import Counter
from itertools import islice
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from tests.benchmarks.labeled_rows import FOLDER, read_texts, rows

SCRIPTS = {path.stem: f"benchmarks.{path.parent.name}.{path.stem}" for path in sorted(FOLDER.glob("*/bench_*.py"))}
WITHOUT_DATA = {"bench_load"}


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_benchmark_says_how_it_is_run(script, capsys):
    main = importlib.import_module(SCRIPTS[script]).main
    with pytest.raises(SystemExit) as error:
        main(["--help"])
    assert error.value.code == 0
    output = capsys.readouterr().out
    assert f"python -m benchmarks run {script}{'' if script in WITHOUT_DATA else ' --data DIR'}" in output
    assert "--output" in output


@pytest.mark.parametrize("script", [script for script in SCRIPTS if script not in {"bench_cuda"} | WITHOUT_DATA])
def test_a_benchmark_without_data_says_where_to_name_it(script, capsys, monkeypatch):
    monkeypatch.delenv("HASHNLP_DATA", raising=False)
    main = importlib.import_module(SCRIPTS[script]).main
    with pytest.raises(SystemExit):
        main([])
    assert "--data or in HASHNLP_DATA" in capsys.readouterr().err


def test_without_cuda_the_benchmark_says_what_it_needs(monkeypatch):
    module = importlib.import_module("benchmarks.speed.bench_cuda")
    monkeypatch.setattr(module.torch.cuda, "is_available", lambda: False)
    with pytest.raises(SystemExit, match="torch sees no CUDA device"):
        module.main(["--data", "nowhere"])


def test_an_accuracy_is_written_at_once_and_measured_once(data, monkeypatch, capsys):
    module = importlib.import_module("benchmarks.accuracy.bench_classifiers")
    path = data / "results.json"
    arguments = ["--data", str(data), "--output", str(path), "--part", "accuracy", "--sets", "trec", "--models"]
    module.main([*arguments, "svm"])
    first = json.loads(path.read_text(encoding="utf-8"))["accuracy"]["sets"]["trec"]
    assert list(first) == ["svm"]
    assert first["svm"]["accuracy"] == 100

    measured = []

    def stop(name, model, *rest):
        measured.append(model)
        if model == "svm-punctuation":
            raise KeyboardInterrupt
        return {"accuracy": 50.0, "spread": 0.0}

    monkeypatch.setattr(module.classifier_accuracy, "measure", stop)
    with pytest.raises(KeyboardInterrupt):
        module.main([*arguments, "words", "svm", "svm-punctuation"])
    assert measured == ["words", "svm-punctuation"]
    sets = json.loads(path.read_text(encoding="utf-8"))["accuracy"]["sets"]
    assert set(sets["trec"]) == {"words", "svm"}
    assert sets["trec"]["svm"] == first["svm"]
    module.main([*arguments, "svm", "--again"])
    assert measured[-1] == "svm"


def test_tuning_keeps_the_best_of_each_parameter_in_turn(data, monkeypatch):
    module = importlib.import_module("benchmarks.common.classifier_accuracy")
    sets = importlib.import_module("benchmarks.common.data")
    default = {"classifier__max_epochs": 2, "classifier__batch_size": 32}
    worth = {("classifier__max_epochs", 4): 5.0, ("classifier__batch_size", 16): -1.0, ("features", "characters"): 2.0}

    def model(settings, seed):
        return SimpleNamespace(get_params=lambda: default | settings)

    def evaluate(model, train, test):
        assert not set(train.texts) & set(test.texts)
        return {"accuracy": 80 + sum(worth.get(one, 0) for one in model.get_params().items()), "seconds": 1.0}

    monkeypatch.setattr(module, "our_model", model)
    monkeypatch.setattr(module, "train_and_test", evaluate)
    grid = [
        ("features", ["words", "characters"]),
        ("classifier__max_epochs", [2, 4]),
        ("classifier__batch_size", [16, 32]),
    ]
    monkeypatch.setattr(module, "TUNING", grid)
    tried = module.tune("trec", sets.DataFolder(data), lambda line: None)
    best = {"features": "characters", "classifier__max_epochs": 4}
    assert tried[-1] == {"settings": best, "accuracy": 87}
    assert [one["accuracy"] for one in tried] == [80, 82, 87, 86, 87]  # a default is not evaluated twice


def test_a_validation_share_has_every_label_and_leaves_single_ones_in_training():
    split = importlib.import_module("benchmarks.common.data").split
    train, valid = split(rows(a=600, b=300, c=20, d=1), 0.1)
    assert Counter(valid.labels) == {"a": 60, "b": 30, "c": 2}
    assert len(train.texts) == 921 - 92
    assert not set(train.texts) & set(valid.texts)
    assert "d" in train.labels
    assert all(text.split()[0] == label for text, label in zip(*valid, strict=True))


def test_fasttext_gets_the_words_of_the_text_classifier(tmp_path):
    fasttext = importlib.import_module("benchmarks.common.fasttext_baseline")
    vectorizer = importlib.import_module("sklearn_hashnlp.classifiers").make_text_classifier(features="words")[0]
    assert fasttext.TOKENS.pattern == vectorizer.token_pattern
    lines = fasttext.lines_of(["It's  fine,\nreally!", ""], fasttext.LOWERCASE)
    assert lines == ["it ' s fine , really !\n", "\n"]
    assert fasttext.lines_of(["It's  fine,\nreally!"], fasttext.CASED) == ["It ' s fine , really !\n"]
    assert fasttext.lines_of(["It's  fine,\nreally!"], fasttext.RAW) == ["It's fine, really!\n"]
    fasttext.write_rows(tmp_path / "rows.txt", lines, ["a b", "a"], ["a", "a b"])
    written = (tmp_path / "rows.txt").read_text(encoding="utf-8").splitlines()
    assert sorted(written) == ["__label__0 ", "__label__1 it ' s fine , really !"]


def test_fasttext_gets_rows_in_a_random_order_since_it_trains_in_theirs(tmp_path):
    fasttext = importlib.import_module("benchmarks.common.fasttext_baseline")
    texts, labels = rows(a=100, b=100)
    fasttext.write_rows(tmp_path / "rows.txt", fasttext.lines_of(texts, fasttext.LOWERCASE), labels, ["a", "b"])
    written = (tmp_path / "rows.txt").read_text(encoding="utf-8").splitlines()
    assert sorted(written) == sorted(f"__label__{'ab'.index(text[0])} {text}" for text in texts)
    assert 25 < sum(line.startswith("__label__0") for line in written[:100]) < 75


FASTTEXT = """
from pathlib import Path
from types import SimpleNamespace

def train_supervised(path, *, lr, **settings):
    if lr == 1.0:
        raise RuntimeError("Encountered NaN.")
    predict = SimpleNamespace(multilinePredict=lambda lines, *_: ([["__label__0"] for _ in lines], None))
    return SimpleNamespace(f=predict, test=test, save_model=lambda path: Path(path).touch())

def load_model(path):
    return train_supervised(path, lr=0.1)

def test(path):
    correct = [line.startswith("__label__0") for line in Path(path).read_text(encoding="utf-8").splitlines()]
    return len(correct), sum(correct) / len(correct), sum(correct) / len(correct)
"""


def test_the_classifier_is_timed_against_fasttext(data, tmp_path, monkeypatch, capsys):
    (data / "ag_news").symlink_to(data / "trec")
    (tmp_path / "environment" / "fasttext").mkdir(parents=True)  # another fastText, which must not be taken
    (tmp_path / "environment" / "fasttext" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path / "environment")
    for folder in ("fasttext", "fasttext_wheel-0.0.dist-info"):
        (data / folder).mkdir()
    (data / "fasttext" / "__init__.py").write_text(FASTTEXT, encoding="utf-8")
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "fasttext", raising=False)
    module, path = importlib.import_module("benchmarks.accuracy.bench_classifiers"), data / "results.json"
    arguments = ["--data", str(data), "--output", str(path), "--fasttext", str(data), "--seeds", "1", "--repeats", "1"]
    module.main([*arguments, "--part", "speed", "prediction"])
    results = json.loads(path.read_text(encoding="utf-8"))
    assert {"epoch": 3, "lr": 0.05, "form": "raw"}.items() <= results["tuning"]["settings"]["fastText"].items()
    assert results["speed"]["versions"]["fastText"] == "0.0"
    accuracies = {name: model["accuracy"] for name, model in results["speed"]["models"].items()}
    assert accuracies.pop("make_text_classifier") == 100
    assert len(accuracies) == 3
    assert set(accuracies.values()) == {50.0}
    assert results["prediction"]["accuracy of fastText"] == 50
    assert len(results["prediction"]["texts/s"]) == 4
    assert "texts/s" in capsys.readouterr().out


def test_fasttext_is_trained_again_after_a_nan_that_was_not_due_to_the_settings(tmp_path):
    baseline, errors = (
        importlib.import_module("benchmarks.common.fasttext_baseline"),
        ["Encountered NaN.", "Encountered NaN."],
    )

    def train_supervised(path, **settings):
        if errors:
            raise RuntimeError(errors.pop())
        return "model"

    fasttext = SimpleNamespace(train_supervised=train_supervised)
    model, seconds = baseline.train(fasttext, tmp_path, {"lr": 0.1, "form": "raw"}, 0, 2)
    assert (model, seconds < 1) == ("model", True)
    for message in ("Encountered NaN.", "no rows"):
        errors += [message] * baseline.ATTEMPTS
        with pytest.raises(RuntimeError, match=message):
            baseline.train(fasttext, tmp_path, {"lr": 9.0}, 0, 2)
    assert len(errors) == baseline.ATTEMPTS - 1  # other errors are none of chance


def test_peers_get_the_form_of_the_texts_that_is_best_on_validation_rows(data, monkeypatch):
    fasttext, folder = (
        importlib.import_module("benchmarks.common.fasttext_baseline"),
        importlib.import_module("benchmarks.common.data"),
    )
    accuracy = importlib.import_module("benchmarks.common.classifier_accuracy")
    seen = []

    def train(fasttext, path, setting, seed, threads):
        seen.append(path.read_text(encoding="utf-8"))
        return None, 1.0

    def capitals(model, lines, labels, names):  # a peer that is the better, the more capitals there are
        return 50.0 + sum(line != line.lower() for line in lines)

    monkeypatch.setattr(fasttext, "train", train)
    monkeypatch.setattr(fasttext, "accuracy", capitals)
    texts = [f"Text {i}, {'fine' if i % 2 else 'dull'}" for i in range(40)]
    rows = folder.Rows(texts, ["good" if i % 2 else "bad" for i in range(40)])
    trials = fasttext.choose(None, (rows, rows), {}, 1, lambda line: None)
    assert fasttext.best(trials) == {"form": "raw", "lr": 0.05, "epoch": 3}
    assert len(trials) == 3 * len(fasttext.GRID)
    assert len(set(seen)) == 3
    lower = folder.Rows([text.lower().replace(",", " ,") for text in texts], rows.labels)
    assert {trial["form"] for trial in fasttext.choose(None, (lower, lower), {}, 1, lambda line: None)} == {"raw"}

    monkeypatch.setattr(folder.DataFolder, "train_valid", lambda self, name: (rows, rows))
    monkeypatch.setattr(accuracy, "linear_model", lambda name, model, lowercase: lowercase)
    tests = []
    monkeypatch.setattr(
        accuracy,
        "train_and_test",
        lambda model, train, test: tests.append(model) or {"accuracy": 50.0 + (not model), "seconds": 0.0},
    )
    result = accuracy.measure_linear("trec", "svm", folder.DataFolder(data))
    assert result["chosen"] == {"lowercase": False}
    assert tests == [True, False, False]


def test_fasttexts_accuracy_counts_labels_it_does_not_know_as_wrong():
    fasttext = importlib.import_module("benchmarks.common.fasttext_baseline")
    answers = [["__label__0"], ["__label__1"], [], ["__label__0"]]
    model = SimpleNamespace(f=SimpleNamespace(multilinePredict=lambda lines, k, threshold, errors: (answers, None)))
    assert fasttext.accuracy(model, ["x\n"] * 4, ["a", "a", "a", "unknown"], ["a", "b"]) == 25


def test_perturbed_documents_are_as_long_as_real_ones_and_differ_in_a_share_of_their_words():
    module = importlib.import_module("benchmarks.common.synthetic_texts")
    real = rows(a=40, b=40)
    longer = real._replace(texts=[" ".join([text, *(f"{text[0]}{i}" for i in range(98))]) for text in real.texts])
    made = list(islice(module.perturbed(longer, share=0.3, seed=1), 1500))
    assert made == list(islice(module.perturbed(longer, share=0.3, seed=1), 1500))
    assert made != list(islice(module.perturbed(longer, share=0.3, seed=2), 1500))
    assert {len(text.split()) for text, _ in made} == {100}
    words = {word for text in longer.texts for word in text.split()}
    assert all(set(text.split()) <= words for text, _ in made)
    others = [word for text, label in made for word in text.split() if re.match("[ab][0-9]", word) and word[0] != label]
    assert 0.12 < len(others) / (1500 * 100) < 0.17  # half of three in ten come from the other label

    (first, second) = module.chunks(iter(made), 15, 10)
    assert [len(first.texts), len(second.texts)] == [10, 5]
    assert list(zip(*first, strict=True)) + list(zip(*second, strict=True)) == made[:15]


def test_the_slope_of_a_power_is_its_exponent():
    slope = importlib.import_module("benchmarks.speed.bench_scale").slope
    assert slope([(n, 3 * n**1.5) for n in (10, 100, 1000)]) == pytest.approx(1.5)


def test_methods_are_compared_within_a_round_and_alternate_in_order():
    timing = importlib.import_module("benchmarks.common.timing")
    assert timing.median_ratio([20.0, 90.0, 8.0], [10.0, 30.0, 1.0]) == 3  # the median of the ratios 2, 3 and 8
    assert timing.summarize_seconds([3.0, 1.0, 2.0]) == {"median": 2.0, "all": [3.0, 1.0, 2.0]}
    orders = [timing.order_of_round(["a", "b", "c"], round_) for round_ in (1, 2, 3)]
    assert orders == [["a", "b", "c"], ["c", "b", "a"], ["a", "b", "c"]]


def test_classes_are_drawn_by_their_counts():
    module = importlib.import_module("benchmarks.language.large_vocabulary")
    counts = module.zipf_counts(1000)
    assert counts[:4].tolist() == [10**9, 10**9 // 2, 10**9 // 3, 10**9 // 4]
    drawn = module.draw_classes(np.array([0, 3, 0, 1]), (20, 1000), seed=0)
    assert drawn.shape == (20, 1000)
    shares = np.bincount(drawn.ravel(), minlength=4) / drawn.numel()
    assert shares == pytest.approx([0, 0.75, 0, 0.25], abs=0.02)
    assert not torch.equal(drawn, module.draw_classes(np.array([0, 3, 0, 1]), (20, 1000), seed=1))


@pytest.mark.parametrize(
    ("classes", "right"),
    [([[1, 3]], True), ([[1, 2]], True), ([[3, 1]], False), ([[1, 0]], False), ([[1, 1]], False)],
    ids=["as they are", "a tie broken otherwise", "in another order", "another class", "one class twice"],
)
def test_a_search_may_break_ties_as_it_likes_and_must_else_find_the_most_probable(classes, right):
    same_but_ties = importlib.import_module("benchmarks.speed.topk_speed").same_but_ties
    log_probs = torch.tensor([[-4.0, -1.0, -2.000001, -2.0]])
    assert same_but_ties(log_probs, torch.tensor(classes)) is right


def test_a_class_that_a_search_gives_twice_is_wrong_also_among_ties():
    same_but_ties = importlib.import_module("benchmarks.speed.topk_speed").same_but_ties
    log_probs = torch.tensor([[-3.0, -1.0, -1.0]])
    assert same_but_ties(log_probs, torch.tensor([[2, 1]]))
    assert not same_but_ties(log_probs, torch.tensor([[1, 1]]))


@pytest.mark.parametrize("output", ["softmax", "adaptive"])
def test_the_baseline_learns_the_estimators_windows_in_a_plain_torch_loop(tmp_path, output):
    (tmp_path / "ptb").mkdir()
    for file, times in (("train.txt", 40), ("valid.txt", 2)):
        (tmp_path / "ptb" / file).write_text(" a b c d e \n\n d e a b\n" * times, encoding="utf-8")
    race, baselines = (
        importlib.import_module("benchmarks.speed.softmax_speed"),
        importlib.import_module("benchmarks.speed.softmax_baselines"),
    )
    ptb = race.read_ptb(importlib.import_module("benchmarks.common.data").DataFolder(tmp_path))
    assert (ptb.n_classes, len(ptb.train_words.targets), len(ptb.valid_words.targets)) == (7, 40 * 11, 2 * 11)
    assert len(ptb.train) == 80
    sizes = {"order": 5, "embedding_dim": 4, "hidden_size": 8}
    baseline = baselines.LanguageBaseline(output, ptb.n_classes, **sizes, learning_rate=0.05, linear=True)
    contexts, targets = ptb.valid_words
    with torch.no_grad():
        by_hand = -baseline.model.log_prob(contexts).gather(1, targets.unsqueeze(1)).mean()
    before = baseline.perplexity(ptb.valid_words)
    assert before == pytest.approx(by_hand.exp().item(), rel=1e-5)
    baseline.train(ptb.train_words, epochs=50)
    assert baseline.optimizer.param_groups[0]["lr"] == pytest.approx(0.05 / 50)  # one step an epoch: the last of fifty
    assert baseline.perplexity(ptb.valid_words) < 1.6 < before


def test_text_is_read_without_blank_lines_and_a_choice_of_lines_keeps_their_order(tmp_path):
    sets, read_text = (
        importlib.import_module("benchmarks.common.data"),
        importlib.import_module("benchmarks.common.data").read_text,
    )
    (tmp_path / "some").mkdir()
    lines = [f"line {number:02}" for number in range(50)]
    (tmp_path / "some" / "text.txt").write_text("\n \n".join(lines) + "\n", encoding="utf-8")
    assert read_text(sets.DataFolder(tmp_path), "some", "text.txt") == lines
    few = read_text(sets.DataFolder(tmp_path, rows=10), "some", "text.txt")
    assert len(few) == 10
    assert few == sorted(few)
    assert set(few) < set(lines)


def test_robustness_is_measured_once_on_test_texts_with_errors_and_drawn(data, monkeypatch):
    module, models = (
        importlib.import_module("benchmarks.accuracy.bench_robustness"),
        importlib.import_module("benchmarks.common.robustness_models"),
    )
    read, evaluated = [], []
    monkeypatch.setattr(models.DataFolder, "test", lambda self, name: read.append(name) or self.read(name, "test.csv"))
    curve = models.curve
    monkeypatch.setattr(models, "curve", lambda *rest: evaluated.append((rest[1:], len(read))) or curve(*rest))
    path = data / "results.json"
    arguments = ["--data", str(data), "--output", str(path), "--sets", "trec", "--seeds", "2", "--models"]
    module.main([*arguments, "svm", "svm-augmented"])
    cells = json.loads(path.read_text(encoding="utf-8"))["sets"]["trec"]
    assert list(cells) == ["svm", "svm-augmented"]
    for results in cells.values():
        assert np.shape(results["runs"]) == (2, len(models.RATES))
        assert results["accuracy"] == pytest.approx(np.mean(results["runs"], axis=0))
        assert results["accuracy"][0] == 100
    assert set(cells["svm-augmented"]["chosen"]) == {"features", "lowercase", "distortion", "n_copies"}
    assert (data / "results.png").stat().st_size > 10_000
    # 6 settings and 3 more are evaluated on validation rows, and each of the two is tested with two seeds.
    test = sorted(read_texts(data / "trec" / "test.csv"))
    assert [sorted(rest[0].texts) == test for rest, _ in evaluated] == [False] * 6 + [True] * 2 + [False] * 3 + [
        True
    ] * 2
    module.main([*arguments, "svm", "svm-augmented"])
    assert len(evaluated) == 13


def test_a_curve_is_the_accuracy_on_texts_with_so_many_errors():
    models = importlib.import_module("benchmarks.common.robustness_models")
    texts = [f"text number {i}" for i in range(30)]
    labelled = rows(a=30)._replace(texts=texts)
    results = models.curve(
        lambda given: ["a" if text in texts else "b" for text in given], labelled, 0, (0.0, 0.03, 1.0)
    )
    assert results[0] == 100
    assert 40 < results[1] < 95
    assert results[2] == 0


def test_what_is_exported_is_measured_at_each_level_and_size(data, capsys):
    module, path = importlib.import_module("benchmarks.speed.bench_on_device"), data / "results.json"
    module.main(["--data", str(data), "--output", str(path)])
    models = json.loads(path.read_text(encoding="utf-8"))["models"]
    assert [(one["level"], one["hidden layers"][0]) for one in models] == [
        ("documents", 128),
        ("words", 128),
        ("documents", 256),
        ("words", 256),
    ]
    assert all(one["bytes after"] < one["bytes before"] / 3 for one in models)
    assert all(one["agreement, test"] > 90 for one in models)
    assert [one["file bytes"] < 300_000 for one in models] == [True, True, False, False]
    assert "words" in capsys.readouterr().out


def test_the_page_on_exporting_quotes_what_was_measured():
    results = json.loads((FOLDER / "results" / "on_device.json").read_text(encoding="utf-8"))
    page = (FOLDER.parent / "docs" / "on_device.md").read_text(encoding="utf-8")
    for one in results["models"]:
        cells = [one["level"], "({}, {})".format(*one["hidden layers"])]
        cells += [f"{one[name]:,}" for name in ("bytes before", "bytes after", "file bytes")]
        cells += [f"{one[name]:.1f}" for name in ("accuracy before", "accuracy after", "agreement, test")]
        assert " | ".join([*cells, f"{one['agreement, all']:.2f}"]) in page


def test_the_page_on_what_projections_cost_quotes_what_was_measured():
    cases = json.loads((FOLDER / "results" / "sgnn_projection.json").read_text(encoding="utf-8"))["cases"]
    page = (FOLDER.parent / "docs" / "sgnn.md").read_text(encoding="utf-8")
    assert f"| | {' | '.join(cases)} |" in page
    for method in cases["800 words"]["seconds"]:
        measured = [case for case in cases.values() if method in case["seconds"]]
        times = [f"{1000 * case['seconds'][method]['median']:,.1f}" for case in measured]
        growth = [f"{case['memory'][method]['growth MiB']:.1f}" for case in measured]
        assert f"| {' | '.join(times)} |" in page
        assert f"| {' | '.join(growth)} |" in page
    for reference, least, most in (("80 projections", "27", "233"), ("one projection", "20", "185")):
        ratios = [
            ratio
            for name, case in cases.items()
            for method, ratio in case["times as long"][
                "ours, words of texts once" if "words" in name else "ours"
            ].items()
            if method.startswith(reference)
        ]
        assert (f"{min(ratios):.0f}", f"{max(ratios):.0f}") == (least, most)
        assert re.search(rf"{least}\sto {most} times as fast as {reference.split()[0]}", page)


@pytest.mark.slow
def test_dictionaries_are_measured_beside_scikit_learns(data, capsys):
    module, path = importlib.import_module("benchmarks.accuracy.bench_ngram_dictionary"), data / "results.json"
    module.main(["--data", str(data), "--output", str(path), "--sets", "trec", "--peer-rows", "20"])
    results = json.loads(path.read_text(encoding="utf-8"))["sets"]["trec"]
    assert {method: one["texts"] for method, one in results.items()} == {
        "ours": 60,
        "ours, 2 threads": 60,
        "ours, 256 MiB": 60,
        "ours, some rows": 20,
        "CountVectorizer, some rows": 20,
    }
    assert (
        len({results[method]["digest of the counts"] for method in ("ours", "ours, 2 threads", "ours, 256 MiB")}) == 1
    )
    assert results["ours"]["digest of the counts"] != results["ours, some rows"]["digest of the counts"]
    assert "the same counts as CountVectorizer on the same rows: yes" in capsys.readouterr().out


def test_the_page_on_text_features_quotes_what_dictionaries_cost():
    results = json.loads((FOLDER / "results" / "ngram_dictionary.json").read_text(encoding="utf-8"))
    page = (FOLDER.parent / "docs" / "text_features.md").read_text(encoding="utf-8")
    for methods in results["sets"].values():
        for one in methods.values():
            seconds = one["fit s"] + one["transform s"]
            assert re.search(rf"\| {one['texts']:,} \| [^|]+ \| {seconds:.1f} \| {one['growth MiB']:,.0f} \|", page)
        digests = {methods[f"{method}, some rows"]["digest of the counts"] for method in ("ours", "CountVectorizer")}
        assert len(digests) == 1
    assert results["sets"]["imdb"]["ours"]["growth MiB"] < 8_000_000_000 / 2**20
