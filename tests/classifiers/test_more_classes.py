"""Labels that appear later: ``partial_fit(X, y, classes=[*model.classes_, "new"])``."""

from __future__ import annotations

import copy
import os
import re
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.metrics import f1_score, recall_score

from sklearn_hashnlp import (
    HashEmbeddingClassifier,
    SGNNClassifier,
    TextClassifier,
    load_model,
    save_model,
)
from sklearn_hashnlp.classifiers import EmbeddingTables, merge_classifiers
from sklearn_hashnlp.classifiers._calibration import Calibration
from sklearn_hashnlp.classifiers._labels import Labels
from sklearn_hashnlp.classifiers._more_classes import MoreClasses
from sklearn_hashnlp.classifiers._sample_weights import weights_of_batch
from sklearn_hashnlp.classifiers.hash_embedding._more_outputs import _with_leaves
from sklearn_hashnlp.classifiers.hash_embedding._sparse_rows import SparseRows
from sklearn_hashnlp.datasets import load_labelled, load_stdlib_docstrings
from sklearn_hashnlp.trees import balanced_tree
from tests.trainings import SEEDS, assert_as_good, assert_same_bits

NAMES = np.array(["baking", "chess", "politics", "sport", "weather"])
NEW = ["chess", "weather"]  # among the others in the order of labels
SMALL = {"n_buckets": 300, "n_embeddings": 1000, "random_state": 0}
NETS = {
    "dual": {"loss": "hinge", "embedding_dim": "auto"},
    "dual of 20 dimensions": {"loss": "hinge"},
    "dual of 4 dimensions": {"loss": "hinge", "embedding_dim": 4},
    "dual concat": {"loss": "hinge", "embedding_dim": "auto", "aggregation": "concat"},
    "hinge": {"loss": "hinge", "solver": "sgd", "embedding_dim": "auto"},
    "ova": {"loss": "ova", "embedding_dim": "auto"},
    "appended weights": {
        "embedding_dim": "auto",
        "aggregation": "concat",
        "embedding": EmbeddingTables(append_weight=True),
    },
    "standard": {"variant": "standard", "embedding_dim": "auto"},
    "median": {"aggregation": "median", "n_hashes": 3, "embedding_dim": "auto"},
    "adam": {"optimizer": "adam", "learning_rate": 0.01, "embedding_dim": "auto"},
    "hidden layer": {"hidden_layer_sizes": (8,)},
    "random pool": {"embedding": EmbeddingTables(importance_init="zeros")},
    "tree": {"loss": "hsigmoid", "embedding_dim": "auto"},
    "SGNN": None,
}


def rows_of(n_rows, labels, seed=0):
    """Return rows with columns of their labels and some others, and their labels."""
    rng = np.random.default_rng(seed)
    numbers = rng.choice(np.flatnonzero(np.isin(NAMES, labels)), n_rows)
    dense = rng.random((n_rows, 60)) < np.where(
        np.arange(60) // 10 == numbers[:, np.newaxis], 1, 0.1
    )
    return csr_array(dense.astype(np.float32)), NAMES[numbers]


KNOWN = [name for name in NAMES.tolist() if name not in NEW]
X, Y = rows_of(120, KNOWN)
MORE, MORE_Y = rows_of(120, NAMES.tolist(), seed=1)


def make(name, **options):
    net = NETS[name]
    if net is None:
        return SGNNClassifier(hidden_layer_sizes=(16,), random_state=0, **options)
    return HashEmbeddingClassifier(**SMALL | net | options)


def dense_if_needed(name, matrix):
    return matrix.toarray() if NETS[name] is None else matrix


def raw_scores(model, matrix):
    return model.net_.score_rows(model._rows(matrix))


@pytest.mark.parametrize("name", NETS)
def test_added_labels_are_improbable_and_change_no_other_score(name):
    known, more = (dense_if_needed(name, matrix) for matrix in (X, MORE))
    model = make(name).fit(known, Y)
    before, n_states = raw_scores(model, known), len(model.net_.optimizer_.state)
    model._add_labels(Labels(NAMES, multilabel=False), model._labels, model._rows(more))
    after = raw_scores(model, known)
    assert model.classes_.tolist() == NAMES.tolist()
    assert len(model.net_.optimizer_.state) == n_states > 0
    is_new = np.isin(NAMES, NEW)
    # constant: zero, but log-probabilities are those of one decision more
    change = after[:, ~is_new] - before
    tolerance = {"rtol": 0, "atol": 1e-4 * np.abs(before).max()}
    np.testing.assert_allclose(change, np.full_like(change, change.mean()), **tolerance)
    assert abs(change.mean()) < (0.02 if name == "tree" else 1e-4)
    new = after[:, is_new]
    np.testing.assert_allclose(new, new[:1].repeat(len(new), axis=0), **tolerance)
    assert model._loss.probabilities(after)[:, is_new].sum(axis=1).mean() < 0.2


@pytest.mark.parametrize("name", NETS)
@pytest.mark.parametrize("how", ["fit", "partial_fit", "saved", "int8"])
def test_added_labels_are_learned_whatever_trained_the_model(name, how, tmp_path):
    known, more = (dense_if_needed(name, matrix) for matrix in (X, MORE))
    options = {"learning_rate": 0.02} if name in ("SGNN", "adam") else {}
    model = make(name, **options)
    model = model.partial_fit(known, Y, KNOWN) if how == "partial_fit" else model.fit(known, Y)
    if how in ("saved", "int8"):
        save_model(model, tmp_path / "model", precision="int8" if how == "int8" else "float32")
        model = load_model(tmp_path / "model")
    for part in range(12):
        classes = [*NEW, *model.classes_] if part == 0 else None
        model.partial_fit(more, MORE_Y, classes=classes)
    assert model.classes_.tolist() == NAMES.tolist()
    if name != "hidden layer":  # twelve small steps are few for all layers
        assert model.score(more, MORE_Y) > 0.8
    shares = [np.mean(np.append(Y, np.tile(MORE_Y, 12)) == label) for label in NAMES]
    nothing = np.zeros((1, known.shape[1]), np.float32)
    if name != "SGNN":  # rows of bits have no length
        assert model.predict_proba(csr_array(nothing))[0] == pytest.approx(shares, abs=0.01)


def test_the_share_of_an_added_label_is_that_since_it_was_added():
    known = Calibration(np.array([60.0, 40.0, 100.0]), 100)
    wider = MoreClasses(np.array([0, -1, 1])).calibration(known)
    assert wider.usual_shares.tolist() == [0.6, 0.0, 0.4]
    part = SparseRows(csr_array(np.ones((10, 1), np.float32)), np.array([0] * 4 + [1] * 5 + [2]))
    both = Calibration.of(part, 3, wider)
    assert both.usual_shares == pytest.approx([64 / 110, 5 / 10, 41 / 110])
    weights = weights_of_batch(part, both.usual_shares)
    assert weights[4:9] == pytest.approx(np.ones(5))
    assert weights[0] > 1


@pytest.mark.parametrize("name", ["dual", "adam", "tree", "SGNN"])
def test_an_extended_model_is_saved_with_its_training_state(name, tmp_path):
    known, more = (dense_if_needed(name, matrix) for matrix in (X, MORE))
    model = make(name).fit(known, Y).partial_fit(more, MORE_Y, classes=NAMES)
    save_model(model, tmp_path / "model", training_state=True)
    loaded = load_model(tmp_path / "model")
    assert_same_bits(loaded.predict_proba(more), model.predict_proba(more))
    copied = copy.deepcopy(model)
    assert_same_bits(
        *(one.partial_fit(more, MORE_Y).predict_proba(more) for one in (loaded, copied))
    )
    counts = model._calibration.counts_before
    assert counts.tolist() == [120 * (label in NEW) for label in NAMES]
    assert_same_bits(loaded._calibration.counts_before, counts)


def test_the_order_of_classes_does_not_matter():
    models = [
        make("dual").fit(X, Y).partial_fit(MORE, MORE_Y, classes=classes)
        for classes in (NAMES, NAMES[::-1].tolist(), [*MORE_Y, *KNOWN])
    ]
    assert_same_bits(*(model.predict_proba(MORE) for model in models))


@pytest.mark.parametrize("name", ["dual", "SGNN"])
def test_classes_are_labels_that_can_be_read_once(name):
    known, more = (dense_if_needed(name, matrix) for matrix in (X, MORE))
    model = make(name).partial_fit(known, Y, classes=iter(KNOWN))
    for single in ("chess", b"chess", 3):
        with pytest.raises(TypeError, match=r"classes must be a list of labels, such as \["):
            model.partial_fit(known, Y, classes=single)
    model.partial_fit(more, MORE_Y, classes=(label for label in NAMES))
    assert model.classes_.tolist() == NAMES.tolist()
    soft = HashEmbeddingClassifier(**SMALL, loss="soft_softmax", embedding_dim="auto")
    soft.fit(X, indicators(Y, KNOWN), classes=iter(KNOWN))
    assert soft.classes_.tolist() == KNOWN


@pytest.mark.parametrize(
    ("new", "dtype"),
    [
        ([0.0, 1.0, 2.0, -1.0], np.int8),
        ([0.0, 1.0, 2.0], np.int8),
        ([0, 1, 2, 0.5], np.float64),
        ([0, 1, 2, 300], np.int64),
    ],
)
def test_labels_keep_their_number_type(new, dtype):
    y = np.searchsorted(KNOWN, Y).astype(np.int8)
    model = make("dual").fit(X, y).partial_fit(X, y.astype(type(new[-1])), classes=new)
    assert model.classes_.tolist() == sorted(new)
    assert model.classes_.dtype == dtype


@pytest.mark.parametrize("name", ["dual", "tree", "SGNN"])
def test_the_error_for_unknown_labels_has_the_call_that_adds_them(name):
    known, more = (dense_if_needed(name, matrix) for matrix in (X, MORE))
    model = make(name).fit(known, Y)
    with pytest.raises(
        ValueError, match=r"The labels \['chess', 'weather'\] .* or call fit on all rows\.$"
    ) as caught:
        model.partial_fit(more, MORE_Y)
    (call,) = re.findall(r"partial_fit\(.*?\]\)", str(caught.value))
    assert call == "partial_fit(X, y, classes=[*model.classes_, 'chess', 'weather'])"
    eval(f"model.{call}", {"model": model, "X": more, "y": MORE_Y})
    assert model.classes_.tolist() == NAMES.tolist()


def test_known_labels_cannot_be_left_out_of_classes():
    model = make("dual").fit(X, Y)
    with pytest.raises(
        ValueError,
        match=r"cannot remove .* lacks \['baking'\]\. Call .*\[\*model\.classes_, 'chess'\]\)",
    ):
        model.partial_fit(X, Y, classes=["chess", "politics", "sport"])
    with pytest.raises(ValueError, match="The label 'weather' in y was not seen before"):
        model.partial_fit(MORE, MORE_Y, classes=[*KNOWN, "chess"])
    assert model.classes_.tolist() == KNOWN
    before = model.predict_proba(X)
    with pytest.raises(ValueError, match="every value of sample_weight is zero"):
        model.partial_fit(MORE, MORE_Y, classes=NAMES, sample_weight=np.zeros(len(MORE_Y)))
    assert_same_bits(model.predict_proba(X), before)


def test_a_training_that_fails_leaves_the_model_without_the_new_labels():
    model = make("dual").fit(X, Y).set_params(learning_rate=1e30)
    with pytest.raises(ValueError, match="diverged"):
        model.partial_fit(MORE, MORE_Y, classes=NAMES)
    assert model.classes_.tolist() == KNOWN
    assert model.net_.architecture()["num_classes"] == len(model._calibration.class_counts) - 1 == 3


def test_a_given_tree_is_not_extended():
    model = make("tree", tree=balanced_tree(3)).fit(X, Y)
    with pytest.raises(ValueError, match=r"cannot add leaves to a given tree\. Call fit on all"):
        model.partial_fit(MORE, MORE_Y, classes=NAMES)
    assert model.partial_fit(X, Y).classes_.tolist() == KNOWN


@pytest.mark.parametrize("new", [["chess"], ["chess", "weather"], ["a", "chess", "weather"]])
def test_a_tree_gets_a_root_above_the_new_labels(new):
    tree, classes = balanced_tree(3), sorted([*KNOWN, *new])
    wider = _with_leaves(tree, MoreClasses.of(np.array(KNOWN), np.array(classes)))
    is_new = np.isin(classes, new)
    assert wider.depths[~is_new].tolist() == (tree.depths + 1).tolist()
    assert wider.depths[is_new].tolist() == [1 + (len(new) > 1)] * len(new)
    assert re.findall(r"\w+$", wider.draw(classes), re.M)[-len(new) :] == new
    model = make("tree").fit(X, Y).partial_fit(X, Y, classes=[*KNOWN, *new])
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(np.ones(len(Y)))


def test_lists_of_labels_may_have_new_labels():
    model = make("ova").fit(X, [[label] for label in Y])
    lists = [[label, "all"] for label in MORE_Y]
    with pytest.raises(
        ValueError, match=r"classes=\[\*model\.classes_, 'all', 'chess', 'weather'\]\); or call fit"
    ):
        model.partial_fit(MORE, lists)
    for _ in range(20):
        model.partial_fit(MORE, lists, classes=["all", *NAMES])
    assert model.classes_.tolist() == ["all", *NAMES]
    assert (
        np.mean(
            [found == sorted(row) for found, row in zip(model.predict(MORE), lists, strict=True)]
        )
        > 0.8
    )


def indicators(labels, names):
    return (labels[:, np.newaxis] == np.array(names)).astype(np.int64)


def test_an_indicator_matrix_may_have_more_columns():
    model = make("ova").fit(X, indicators(Y, KNOWN))
    wider = indicators(MORE_Y, [*KNOWN, *NEW])
    with pytest.raises(ValueError, match=r"The labels \[3, 4\] .*\[\*model\.classes_, 3, 4\]\)"):
        model.partial_fit(MORE, wider)
    for _ in range(20):
        model.partial_fit(MORE, wider, classes=range(5))
    assert model.classes_.tolist() == [0, 1, 2, 3, 4]
    assert (model.predict(MORE) == wider).all(axis=1).mean() > 0.8


def test_a_frame_may_have_more_columns_anywhere():
    model = make("ova").fit(X, pd.DataFrame(indicators(Y, KNOWN), columns=KNOWN))
    wider = pd.DataFrame(indicators(MORE_Y, NAMES), columns=NAMES)
    with pytest.raises(ValueError, match=r"\[\*model\.classes_, 'chess', 'weather'\]\)"):
        model.partial_fit(MORE, wider)
    for _ in range(20):
        model.partial_fit(MORE, wider, classes=[*KNOWN, *NEW])
    assert model.classes_.tolist() == NAMES.tolist()
    assert (model.predict(MORE) == wider.to_numpy()).all(axis=1).mean() > 0.8


def test_the_columns_of_a_frame_may_have_another_order():
    frame = pd.DataFrame(indicators(Y, KNOWN), columns=KNOWN)
    moved = frame[KNOWN[::-1]]
    models = [
        make("ova").fit(X, frame, validation_data=(X, one)).partial_fit(X, one)
        for one in (frame, moved)
    ]
    assert_same_bits(*(model.predict_proba(X) for model in models))
    assert_same_bits(*(model.history_[0]["valid_loss"] for model in models))
    with pytest.raises(ValueError, match="cannot continue training with"):
        models[0].partial_fit(X, moved.rename(columns={"baking": "cooking"}))


def test_soft_labels_may_have_more_columns():
    options = {"loss": "soft_softmax", "embedding_dim": "auto"}
    model = HashEmbeddingClassifier(**SMALL | options).fit(X, indicators(Y, KNOWN), classes=KNOWN)
    classes, wider = [*KNOWN, *NEW], indicators(MORE_Y, [*KNOWN, *NEW])
    with pytest.raises(ValueError, match=r"To add labels call .*\[\*model\.classes_, \.\.\.\]\)"):
        model.partial_fit(MORE, wider)
    for _ in range(20):
        model.partial_fit(MORE, wider, classes=classes)
    assert model.classes_.tolist() == classes
    assert model.score(MORE, MORE_Y) > 0.8


def test_a_warm_start_continues_with_the_labels_that_were_added():
    model = make("hinge", warm_start=True).fit(X, Y).partial_fit(MORE, MORE_Y, classes=NAMES)
    assert model.fit(MORE, MORE_Y).score(MORE, MORE_Y) > 0.8
    with pytest.raises(ValueError, match="cannot continue training with the labels"):
        model.fit(X, Y)


def test_extended_models_are_merged():
    parts = [
        make("hinge")
        .partial_fit(X, Y, classes=KNOWN)
        .partial_fit(*rows_of(100, NAMES.tolist(), seed=seed), classes=NAMES)
        for seed in (2, 3)
    ]
    merged = merge_classifiers(parts)
    assert merged._calibration.counts_before.tolist() == [240 * (name in NEW) for name in NAMES]
    assert merged.score(MORE, MORE_Y) > 0.5


@cache
def docstrings():
    """Return texts of ten labels; two of them are new after the first 600 texts of the others."""
    texts, labels = load_stdlib_docstrings(return_X_y=True)
    names, counts = np.unique(labels, return_counts=True)
    frequent = names[np.argsort(-counts, kind="stable")[:10]]
    return stream_of(np.array(texts, dtype=object), labels, frequent, frequent[[4, 5]], 600, 100)


def stream_of(texts, labels, names, new, n_first, n_batch):
    """Return the parts of a stream: a fit, six batches, of which four have new labels; and a test
    set.
    """
    order = np.random.default_rng(0).permutation(np.flatnonzero(np.isin(labels, names)))
    n_test = len(order) // 4
    test, rest = order[:n_test], order[n_test:]
    is_new = np.isin(labels[rest], new)
    n_old = n_first + 2 * n_batch
    share = np.isin(labels[order], new).mean()
    n_new = round(4 * n_batch * share)
    old, others = np.split(rest[~is_new][: n_old + 4 * n_batch - n_new], [n_old])
    mixed = np.random.default_rng(1).permutation(np.concatenate([rest[is_new][:n_new], others]))
    edges = n_first + n_batch * np.arange(6)
    parts = np.split(np.concatenate([old, mixed]), edges)
    return [(texts[part], labels[part]) for part in parts], (texts[test], labels[test]), set(new)


class Figures:
    """Percentages of the test texts: macro F1, accuracy on old labels, recall of new labels."""

    def __init__(self, model, test, new):
        texts, labels = test
        predicted, is_new = model.predict(texts), np.isin(labels, list(new))
        self.f1 = 100 * f1_score(labels, predicted, average="macro")
        self.old = 100 * np.mean(predicted[~is_new] == labels[~is_new])
        self.recall = 100 * recall_score(
            labels, predicted, labels=sorted(new), average="macro", zero_division=0
        )


def learned_later(parts, test, new, seed, options):
    """Return figures before the new labels, after the last batch, and of a refit on all texts."""
    (texts, labels), *batches = parts
    model = TextClassifier(random_state=seed, **options).fit(texts, labels)
    for batch in batches[:2]:
        model.partial_fit(*batch)
    before = Figures(model, test, new)
    model.partial_fit(*batches[2], classes=[*model.classes_, *new])
    for batch in batches[3:]:
        model.partial_fit(*batch)
    whole = [np.concatenate(column) for column in zip(*parts, strict=True)]
    refit = TextClassifier(random_state=seed, **options).fit(*whole)
    nothing = model.predict_proba([""])[0]
    shares = [np.mean(whole[1] == label) for label in model.classes_]
    assert np.abs(nothing - shares).max() < 0.01
    return before, Figures(model, test, new), Figures(refit, test, new)


def check_law(results, margin):
    before, after, refit = zip(*results, strict=True)
    assert_as_good([one.f1 for one in after], [one.f1 for one in refit], margin=margin + 0.5)
    assert_as_good([one.old for one in after], [one.old for one in before], margin=margin)
    assert_as_good([one.recall for one in after], [0.8 * one.recall for one in refit], margin=0)


# With 8 dimensions for 8 labels the new ones have none of their own.
@pytest.mark.usefixtures("all_epochs")
@pytest.mark.parametrize("options", [{}, {"embedding_dim": 8}], ids=str)
def test_labels_of_docstrings_that_appear_later_are_learned(options):
    results = [learned_later(*docstrings(), seed, options) for seed in SEEDS]
    check_law(results, margin=3.0)  # the standard error of 500 texts is about one


@pytest.mark.slow
@pytest.mark.usefixtures("all_epochs")
@pytest.mark.parametrize(
    ("name", "new", "options", "margin"),
    [
        # macro F1 of many rare labels
        ("swda", ["aa", "qy"], {}, 1.5),
        ("swda", ["aa", "qy"], {"solver": "sgd"}, 1.0),
        # "Yeah." agrees, or only says that one listens: the label that is learned last has it.
        ("swda", ["aa", "qy"], {"loss": "softmax"}, 3.0),
        # one of four labels: the others lose the texts that it shares with them
        ("ag_news", ["Sports"], {}, 1.5),
        ("mrda", ["Q"], {}, 1.0),
        ("languages79", ["de", "ja"], {}, 1.0),
        ("languages79", ["de", "ja"], {"loss": "softmax"}, 1.0),
    ],
)
def test_labels_of_real_texts_that_appear_later(name, new, options, margin):
    if "HASHNLP_DATA" not in os.environ:
        pytest.skip("HASHNLP_DATA names no folder")
    path = Path(os.environ["HASHNLP_DATA"]) / name / "train.csv"
    texts, labels = load_labelled(path, multilabel=False)
    rows = np.random.default_rng(0).permutation(len(texts))[:12_000]
    texts, labels = np.array(texts, dtype=object)[rows], labels[rows]
    names, counts = np.unique(labels, return_counts=True)
    stream = stream_of(texts, labels, names[counts >= 40], new, 4000, 500)
    check_law([learned_later(*stream, seed, options) for seed in SEEDS], margin=margin)
