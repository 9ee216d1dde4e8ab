"""Merging classifiers against a slow mean row by row, its laws, and what cannot be merged."""

from __future__ import annotations

import copy
import threading

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from skorch.callbacks import Callback

from sklearn_hashnlp import load_model, save_model
from sklearn_hashnlp.classifiers import (
    EmbeddingTables,
    HashEmbeddingClassifier,
    TextClassifier,
    make_text_classifier,
    merge_classifiers,
)
from sklearn_hashnlp.trees import balanced_tree
from tests.trainings import SEEDS, assert_as_good, assert_near, assert_same_bits

RNG = np.random.default_rng(0)
X = csr_array((RNG.random((400, 90)) < 0.15) * RNG.integers(1, 4, (400, 90)), dtype=np.float32)
Y = np.array(["a", "b", "c"])[
    np.argmax(X.toarray().reshape(400, 3, 30).sum(axis=2) + RNG.normal(0, 1, (400, 3)), axis=1)
]
SMALL = {
    "n_buckets": 300,
    "n_embeddings": 1000,
    "embedding_dim": 4,
    "random_state": 0,
    "max_epochs": 2,
}
PARTS = [slice(0, 50), slice(50, 200), slice(200, 400)]
OPTIONS = [
    {},
    {"embedding": EmbeddingTables(append_weight=False, importance_init="ones")},
    {"embedding": EmbeddingTables(importance_init="zeros"), "n_hashes": 1},
    {"variant": "standard"},
    {"embedding": EmbeddingTables(train_importance=False)},
    {"embedding": EmbeddingTables(train_pool=False)},
    {"hidden_layer_sizes": (6,)},
    {"loss": "ova"},
    {"normalize": None, "learning_rate": 0.02},
]


def trained(part, **options):
    return HashEmbeddingClassifier(**SMALL | options).fit(X[part], Y[part])


def shards(**options):
    return [trained(part, **options) for part in PARTS]


def weights_of(model):
    return {name: value.detach().numpy() for name, value in model.net_.module_.state_dict().items()}


def sums_of(model, name):
    state = model.net_.optimizer_.state.get(model.net_.module_.get_parameter(name), {})
    return state["sum"].numpy() if "sum" in state else None


def learned(model):
    """Return all that a model has learned."""
    arrays = weights_of(model) | {
        "proba": model.predict_proba(X),
        "temperature": model.temperature_,
    }
    for name, _ in model.net_.module_.named_parameters():
        if sums_of(model, name) is not None:
            arrays[f"sums of {name}"] = sums_of(model, name)
    if model.net_.document_frequencies is not None:
        arrays |= {"frequencies": model.net_.document_frequencies, "divisor": model._idf_divisor}
    return arrays | {"rows": model._calibration.n_rows}


def compare(one, two, *, rtol=1e-6, atol=1e-6):
    """Compare all that two models have learned."""
    expected = learned(two)
    assert_same_bits([*learned(one)], [*expected])
    for name, value in learned(one).items():
        assert_near(value, expected[name], rtol=rtol, atol=atol)


def document_frequencies(model, part):
    """Count the rows that have a value in each row of the importance table, one by one."""
    counts = np.zeros(1000)
    rows = model.net_.module_.bag.locate(torch.arange(90))[0].numpy()
    for row in X[part].toarray():
        for column in np.flatnonzero(row):
            counts[rows[column]] += 1
    return np.minimum(counts, X[part].shape[0])


def slow_mean(models, name, factors, frequencies):
    """The definition, row by row."""
    tables = [weights_of(model)[name].astype(np.float64) for model in models]
    sums = [sums_of(model, name) for model in models]
    merged = tables[0].copy()
    n_rows = [X[part].shape[0] for part in PARTS]
    df = np.rint(sum(factor * one for factor, one in zip(factors, frequencies, strict=True)))
    df = np.where(sum(frequencies), np.maximum(df, 1), 0)
    n = round(sum(factor * count for factor, count in zip(factors, n_rows, strict=True)))
    idf = [
        np.log((1 + count) / (1 + one)) + 1
        for count, one in zip([*n_rows, n], [*frequencies, df], strict=True)
    ]
    relative = [
        one / one[seen > 0].mean() for one, seen in zip(idf, [*frequencies, df], strict=True)
    ]
    for row in range(len(merged)):
        squares = [
            0.0 if one is None else factor * one[row]
            for factor, one in zip(factors, sums, strict=True)
        ]
        if (
            name == "bag.importance"
            and (models[0].embedding or EmbeddingTables()).importance_init == "idf"
        ):
            if sum(squares) == 0:
                squares = [
                    factor * one[row] for factor, one in zip(factors, frequencies, strict=True)
                ]
            tables_row = [
                table[row] * relative[-1][row] / own[row]
                for table, own in zip(tables, relative, strict=False)
            ]
        else:
            tables_row = [table[row] for table in tables]
        if sum(squares):
            merged[row] = sum(
                s * value for s, value in zip(squares, tables_row, strict=True)
            ) / sum(squares)
    return merged


@pytest.mark.parametrize("factors", [None, [0.5, 2.0, 1.0]])
@pytest.mark.parametrize("options", OPTIONS[:6], ids=str)
def test_it_is_the_slow_mean(options, factors):
    models = shards(**options)
    merged, factors = merge_classifiers(models, factors), factors or [1.0, 1.0, 1.0]
    frequencies = [
        document_frequencies(model, part) for model, part in zip(models, PARTS, strict=True)
    ]
    n_rows = np.array(factors) * [50, 150, 200]
    for name, value in weights_of(merged).items():
        if name.startswith("bag.") and not name.endswith("_extra_state"):
            np.testing.assert_allclose(
                value, slow_mean(models, name, factors, frequencies), rtol=1e-5, atol=1e-7
            )
        elif name.startswith("head."):
            expected = (
                sum(n * weights_of(model)[name] for n, model in zip(n_rows, models, strict=True))
                / n_rows.sum()
            )
            np.testing.assert_allclose(value, expected, rtol=1e-5, atol=1e-7)
    for name, _ in merged.net_.module_.named_parameters():
        parts = [sums_of(model, name) for model in models]
        if parts[0] is not None:
            expected = sum(factor * part for factor, part in zip(factors, parts, strict=True))
            np.testing.assert_allclose(sums_of(merged, name), expected, rtol=1e-5, atol=1e-9)
    assert merged._calibration.n_rows == round(n_rows.sum())


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_merging_one_model_changes_no_bit(options):
    model = trained(PARTS[1], **options)
    before = copy.deepcopy(model)
    merged = merge_classifiers([model], [1.0])
    assert_same_bits(learned(before), learned(merged))
    assert_same_bits(learned(before), learned(model))
    assert merged.history_ == model.history_
    assert merged is not model


@pytest.mark.parametrize("options", OPTIONS[::2], ids=str)
def test_the_order_has_no_influence_nor_have_earlier_merges(options):
    one, two, three = shards(**options)
    merged = merge_classifiers([one, two, three])
    compare(merged, merge_classifiers([three, one, two]), rtol=1e-4, atol=1e-6)
    compare(merged, merge_classifiers([merge_classifiers([one, two]), three]), rtol=1e-4, atol=1e-6)


def test_a_merged_model_trains_on_and_is_saved(tmp_path):
    merged = merge_classifiers(shards())
    save_model(merged, tmp_path / "model", training_state=True)
    loaded = load_model(tmp_path / "model")
    assert_same_bits(learned(merged), learned(loaded))
    for model in (merged, loaded):
        model.partial_fit(X, Y)
    assert_same_bits(learned(merged), learned(loaded))
    assert merged._calibration.n_rows == 800
    compare(merge_classifiers([loaded]), loaded, rtol=1e-6)


def test_several_labels_and_hierarchical_softmax():
    indicator = np.stack([Y == "a", Y != "b"], axis=1).astype(int)
    models = [
        HashEmbeddingClassifier(**SMALL, loss="ova").fit(X[part], indicator[part]) for part in PARTS
    ]
    compare(merge_classifiers(models), merge_classifiers(models[::-1]), rtol=1e-4, atol=1e-6)
    tree = balanced_tree(3)
    models = [trained(part, loss="hsigmoid", tree=tree) for part in PARTS]
    merged = merge_classifiers(models)
    compare(merged, merge_classifiers(models[::-1]), rtol=1e-4, atol=1e-6)
    scores = []
    for seed in SEEDS:
        models = [trained(part, loss="hsigmoid", tree=tree, random_state=seed) for part in PARTS]
        scores.append([model.score(X, Y) for model in (merge_classifiers(models), models[0])])
    assert_as_good(*np.transpose(scores), margin=0)


TEXTS = [
    "a fine funny film",
    "dull and far too long",
    "funny and fine acting",
    "too dull to sit through",
] * 5
KINDS = ["good", "bad", "good", "bad"] * 5
SMALL_TEXT = {"n_buckets": 2**10, "n_embeddings": 2**10, "random_state": 0}
CALLS = {"TextClassifier": TextClassifier, "make_text_classifier": make_text_classifier}


@pytest.mark.parametrize("make", CALLS.values(), ids=CALLS)
def test_classifiers_of_texts(make, tmp_path):
    models = [
        make(**SMALL_TEXT, max_epochs=3).fit(TEXTS[part], KINDS[part])
        for part in (slice(8), slice(8, 20))
    ]
    before = [model.predict_proba(TEXTS) for model in models]
    merged = merge_classifiers(models)
    assert merged.score(TEXTS, KINDS) == 1.0
    for model, probabilities in zip(models, before, strict=True):
        assert_same_bits(model.predict_proba(TEXTS), probabilities)
    save_model(merged, tmp_path / "model")
    np.testing.assert_array_equal(
        load_model(tmp_path / "model").predict_proba(TEXTS), merged.predict_proba(TEXTS)
    )
    if make is TextClassifier:
        assert merged.partial_fit(TEXTS, KINDS).score(TEXTS, KINDS) == 1.0


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"random_state": 1}, "seed of the hash functions, which random_state draws"),
        ({"n_buckets": 301}, "n_buckets is 300 in model 0 and 301 in model 1"),
        ({"learning_rate": 0.1}, r"learning_rate is 0\.2 in model 0 and 0\.1 in model 1"),
        ({"loss": "hinge"}, "loss is 'softmax'"),
        ({"class_weight": {"a": 2.0}}, "class_weight is None"),
    ],
)
def test_models_that_differ_are_refused_by_name(other, message):
    with pytest.raises(ValueError, match=message):
        merge_classifiers([trained(PARTS[0]), trained(PARTS[1], **other)])


def test_data_that_differ_are_refused_by_name():
    model = trained(PARTS[0])
    with pytest.raises(ValueError, match="classes_ is array"):
        merge_classifiers(
            [model, HashEmbeddingClassifier(**SMALL).fit(X, np.where(Y == "a", "a", "z"))]
        )
    with pytest.raises(ValueError, match="n_features_in_ is 90 in model 0 and 80 in model 1"):
        merge_classifiers([model, HashEmbeddingClassifier(**SMALL).fit(X[:, :80], Y)])
    with pytest.raises(ValueError, match="the tree of classes, which fit builds"):
        merge_classifiers([trained(part, loss="hsigmoid", tree="huffman") for part in PARTS])
    vectorizers = [HashingVectorizer(norm=norm) for norm in ("l1", "l2")]
    models = [
        make_pipeline(one, HashEmbeddingClassifier(**SMALL)).fit(TEXTS, KINDS)
        for one in vectorizers
    ]
    with pytest.raises(ValueError, match="norm is 'l1' in model 0 and 'l2' in model 1"):
        merge_classifiers(models)
    fitted = TextClassifier(**SMALL_TEXT, loss="softmax").fit(TEXTS, KINDS)
    streamed = TextClassifier(**SMALL_TEXT, loss="softmax").partial_fit(
        TEXTS, KINDS, classes=["bad", "good"]
    )
    with pytest.raises(
        ValueError, match="of AutoNgramVectorizer, which depends on the training texts, is"
    ):
        merge_classifiers([fitted, streamed])


@pytest.mark.parametrize("own", [True, False], ids=["unlabeled", "pretrained"])
def test_models_with_vectors_are_merged_if_they_continue_one(own):
    def fitted(part):
        if own:
            return TextClassifier(**SMALL_TEXT, loss="softmax").fit(
                TEXTS[part], KINDS[part], unlabeled=TEXTS[part] * 20
            )
        model = TextClassifier(**SMALL_TEXT, loss="softmax", pretrained="english")
        return model.fit(TEXTS[part], KINDS[part])

    parts = [slice(0, len(TEXTS) // 2), slice(len(TEXTS) // 2, None)]
    models = [fitted(part) for part in parts]
    with pytest.raises(ValueError, match=r"the same vectors .* Fit one model, continue copies"):
        merge_classifiers(models)
    copies = [copy.deepcopy(models[0]).partial_fit(TEXTS[part], KINDS[part]) for part in parts]
    merged = merge_classifiers(copies)
    assert merged.n_parameters_ == models[0].n_parameters_
    assert np.isfinite(merged.predict_proba(TEXTS)).all()


def test_models_without_accumulated_squares_are_refused(tmp_path):
    adam = trained(PARTS[0], optimizer="adam")
    with pytest.raises(ValueError, match="model 0: it was trained with optimizer='adam'"):
        merge_classifiers([adam])
    few = TextClassifier(**SMALL_TEXT).fit(TEXTS, KINDS)
    with pytest.raises(ValueError, match="was trained by dual coordinate descent"):
        merge_classifiers([few])
    with pytest.raises(ValueError, match="part of its training was by dual coordinate descent"):
        merge_classifiers([few.partial_fit(TEXTS, KINDS)])
    save_model(trained(PARTS[0]), tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    with pytest.raises(ValueError, match="model 0: it was loaded without its training state"):
        merge_classifiers([loaded])
    with pytest.raises(ValueError, match="it has no document frequencies"):
        merge_classifiers([loaded.partial_fit(X, Y)])


def test_labels_of_other_widths_and_callbacks_that_cannot_be_copied():
    callback = Callback()
    callback.lock = threading.Lock()  # as one that writes a file
    models = [
        HashEmbeddingClassifier(**SMALL, callbacks=[callback]).fit(X[part], Y[part].astype(dtype))
        for part, dtype in zip(PARTS, ("U1", "U7", "U1"), strict=True)
    ]
    merged = merge_classifiers(models)
    assert merged.callbacks[0] is callback
    compare(merged, merge_classifiers(shards()))


def test_loaded_models_are_merged_by_their_step_sizes(tmp_path):
    found, expected = [], []
    for seed in SEEDS:
        parts = [
            trained(part, embedding=EmbeddingTables(importance_init="ones"), random_state=seed)
            for part in PARTS
        ]
        expected.append(merge_classifiers(parts).score(X, Y))
        for number, part in enumerate(parts):
            folder = tmp_path / f"{seed} {number}"
            save_model(part, folder)
            parts[number] = load_model(folder).partial_fit(X[:1], Y[:1])
        found.append(merge_classifiers(parts).score(X, Y))
    assert_as_good(found, expected, margin=0.05)


def test_wrong_arguments():
    model = trained(PARTS[0])
    with pytest.raises(ValueError, match="at least one model"):
        merge_classifiers([])
    for weights in (
        [1.0],
        1.0,
        [1.0, 0.0],
        [-1.0, 1.0],
        [1.0, np.nan],
        [1e30, 1.0],
        [1e-30, 1.0],
        ["a", 1],
        [1j, 1],
    ):
        with pytest.raises(ValueError, match="a weight from 1e-06 to 1e"):
            merge_classifiers([model, model], weights)
    with pytest.raises(TypeError, match="needs a list of models, got a Pipeline"):
        merge_classifiers(make_pipeline(HashingVectorizer(), model))
    with pytest.raises(TypeError, match="got a SGDClassifier"):
        merge_classifiers([SGDClassifier()])
    with pytest.raises(TypeError, match="got a Pipeline that ends in a SGDClassifier"):
        merge_classifiers([make_pipeline(HashingVectorizer(), SGDClassifier())])
    pipeline = make_pipeline(HashingVectorizer(), HashEmbeddingClassifier(**SMALL)).fit(
        TEXTS, KINDS
    )
    with pytest.raises(TypeError, match="model 0 is a HashEmbeddingClassifier, model 1 a Pipeline"):
        merge_classifiers([model, pipeline])
