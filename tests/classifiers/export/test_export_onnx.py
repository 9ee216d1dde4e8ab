"""ONNX models compute what classifiers do, in onnxruntime and in the reference evaluator of onnx."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from onnx import TensorProto, helper
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from sklearn_hashnlp import CharNgramFeaturizer, SGNNClassifier, SGNNProjector, TextClassifier
from sklearn_hashnlp._hash_specification import hash_constants
from sklearn_hashnlp.classifiers import HashEmbeddingClassifier, export_onnx
from sklearn_hashnlp.classifiers.export import _onnx_graph
from sklearn_hashnlp.classifiers.export._export_onnx import _mix, _slots
from sklearn_hashnlp.classifiers.export._onnx_graph import OnnxGraph
from sklearn_hashnlp.nn._hashing import mix_tensor, slot_tensor

TEXTS = ["a fine, funny film", "dull and far too long", "funny and fine acting", "too dull to sit through", "so so"]
LABELS = ["good", "bad", "good", "bad", "neither"]
QUERIES = ["", *TEXTS, "fine words that were never seen", "!", ""]  # empty rows at both ends


def test_without_onnx_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    monkeypatch.setattr("sklearn_hashnlp.classifiers.export._export_onnx.find_spec", lambda name: None)
    with pytest.raises(ImportError, match="pip install onnx"):
        export_onnx(TextClassifier(), "model.onnx")


@pytest.fixture(name="runs", params=["onnxruntime", "onnx.reference"])
def _runs(request: pytest.FixtureRequest) -> Any:
    """Return a function that computes the outputs of a model."""
    if request.param == "onnx.reference":
        from onnx.reference import ReferenceEvaluator  # takes seconds, and each worker collects all tests

        return lambda path, inputs: ReferenceEvaluator(str(path)).run(None, inputs)
    from onnxruntime import InferenceSession

    return lambda path, inputs: InferenceSession(str(path)).run(None, inputs)


def _sparse(rows: Any) -> dict[str, Any]:
    indices, offsets = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    return {"indices": indices, "values": rows.data.astype(np.float32), "offsets": offsets}


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"max_epochs": 2, "loss": "softmax"},
        {"max_epochs": 2, "loss": "ova"},
        {"max_epochs": 2, "loss": "hinge", "features": "characters"},
        {"aggregation": "concat", "n_hashes": 2, "max_epochs": 2},
        {"variant": "paper", "n_embeddings": 50, "n_buckets": 30, "n_hashes": 3, "max_epochs": 2, "normalize": "l1"},
        {"variant": "standard", "max_epochs": 2, "n_embeddings": 200},
        {"hidden_layer_sizes": (8, 4), "max_epochs": 2, "normalize": None, "importance_init": "zeros", "n_buckets": 99},
    ],
    ids=lambda parameters: "-".join(map(str, parameters.values())) or "default",
)
def test_hash_embeddings(runs: Any, tmp_path: Path, parameters: dict[str, Any]) -> None:
    model = TextClassifier(random_state=0, **parameters).fit(TEXTS * 3, LABELS * 3)
    model.pipeline_[-1]._class_counts[:] = 0  # the network has no shares of the classes for texts that say nothing
    size = export_onnx(model, tmp_path / "m.onnx")
    assert size == (tmp_path / "m.onnx").stat().st_size
    rows = model.pipeline_[0].transform(QUERIES).tocsr()
    scores, probabilities = runs(tmp_path / "m.onnx", _sparse(rows))
    assert scores.dtype == probabilities.dtype == np.float32
    np.testing.assert_allclose(probabilities, model.predict_proba(QUERIES), atol=1e-5)
    expected = model[-1] if hasattr(model, "steps") else model.pipeline_[-1]
    np.testing.assert_array_equal(expected.classes_[scores.argmax(axis=1)], model.predict(QUERIES))


def test_several_labels_and_metadata(runs: Any, tmp_path: Path) -> None:
    labels = [["film", "good"], ["bad"], ["good"], ["bad"], []] * 3
    model = TextClassifier(random_state=0, max_epochs=3).fit(TEXTS * 3, labels)
    model.pipeline_[-1]._class_counts[:] = 0  # as above
    export_onnx(model, tmp_path / "m.onnx")
    _, probabilities = runs(tmp_path / "m.onnx", _sparse(model.pipeline_[0].transform(QUERIES).tocsr()))
    np.testing.assert_allclose(probabilities, model.predict_proba(QUERIES), atol=1e-5)
    import onnx

    metadata = {one.key: json.loads(one.value) for one in onnx.load(tmp_path / "m.onnx").metadata_props}
    assert metadata["multilabel"] is True
    assert metadata["classes"]["values"] == ["bad", "film", "good"]


def test_the_same_model_has_the_same_bytes(runs: Any, tmp_path: Path) -> None:
    X = CharNgramFeaturizer(n_features=1000).transform(TEXTS)
    model = HashEmbeddingClassifier(n_buckets=50, n_embeddings=1000, random_state=0, hash_rows=False).fit(X, LABELS)
    for name in "ab":
        export_onnx(model, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    np.testing.assert_allclose(runs(tmp_path / "a", _sparse(X))[1], model.predict_proba(X), atol=1e-5)


def test_no_rows_at_all_are_legal(tmp_path: Path) -> None:
    X = CharNgramFeaturizer(n_features=1000).transform(TEXTS)
    model = HashEmbeddingClassifier(n_buckets=50, n_embeddings=1000, random_state=0, hash_rows=False).fit(X, LABELS)
    export_onnx(model, tmp_path / "m")
    from onnxruntime import InferenceSession

    # onnx.reference 1.19 reshapes no rows to another number of columns.
    scores, _ = InferenceSession(str(tmp_path / "m")).run(None, _sparse(X[:0]))
    assert scores.shape == (0, 3)


def test_dense_rows(runs: Any, tmp_path: Path) -> None:
    classifier = SGNNClassifier(hidden_layer_sizes=(8, 4), max_epochs=3, random_state=0)
    pipeline = make_pipeline(CharNgramFeaturizer(), SGNNProjector(n_projections=4), classifier).fit(TEXTS, LABELS)
    export_onnx(pipeline, tmp_path / "m.onnx")
    rows = pipeline[:-1].transform(QUERIES)
    _, probabilities = runs(tmp_path / "m.onnx", {"rows": rows.astype(np.float32)})
    np.testing.assert_allclose(probabilities, pipeline.predict_proba(QUERIES), atol=1e-5)


def test_hashes_are_those_of_the_specification() -> None:
    from onnx.reference import ReferenceEvaluator

    edges = [0, 1, 2**16 - 1, 2**16, 2**30, 2**31 - 1, 2**31, 2**32 - 1]
    keys = np.concatenate([edges, np.random.default_rng(0).integers(0, 2**32, 2000)]).astype(np.int64)
    for seed, size in [(0, 2**20), (1, 10**7), (2, 1), (3, 2**31 - 1)]:
        for constants in [*hash_constants(seed, 2), (2**64 - 1, 2**64 - 1)]:
            graph = OnnxGraph()
            slots = _slots(graph, _mix(graph, graph.input("keys", np.int64, ["n"])), constants, size)
            result = graph.add("Cast", graph.add("Unsqueeze", slots, graph.constant([1])), to=11)  # float64 is exact
            output = helper.make_tensor_value_info(result, TensorProto.DOUBLE, ["n", 1])
            built = helper.make_graph(
                graph._nodes, "slots", graph._inputs, [output], initializer=list(graph._constants.values())
            )
            model = helper.make_model(built, opset_imports=[helper.make_opsetid("", 18)])
            with np.errstate(over="raise"):
                (found,) = ReferenceEvaluator(model).run(None, {"keys": keys})
            expected = slot_tensor(mix_tensor(torch.from_numpy(keys)), constants, size)
            np.testing.assert_array_equal(found[:, 0], expected.numpy())


def test_models_that_cannot_be_exported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.onnx"
    with monkeypatch.context() as patched:
        patched.setattr(_onnx_graph, "_MAX_BYTES", 1000)
        with pytest.raises(ValueError, match=r"the tables take [0-9,]+ bytes, and an ONNX model has at most 2\*\*31"):
            export_onnx(TextClassifier(max_epochs=1).fit(TEXTS, LABELS), path)
    with pytest.raises(ValueError, match="loss='hsigmoid'"):
        export_onnx(TextClassifier(loss="hsigmoid", max_epochs=1).fit(TEXTS, LABELS), path)
    with pytest.raises(ValueError, match="aggregation='median'"):
        export_onnx(TextClassifier(aggregation="median", n_hashes=3, max_epochs=1).fit(TEXTS, LABELS), path)
    with pytest.raises(TypeError, match="got Pipeline with LogisticRegression"):
        export_onnx(make_pipeline(CharNgramFeaturizer(), LogisticRegression()), path)
    with pytest.raises(NotFittedError):
        export_onnx(TextClassifier(), path)
    packed = make_pipeline(
        CharNgramFeaturizer(),
        SGNNProjector(n_projections=4, output="packed"),
        SGNNClassifier(max_epochs=1, packed=True),
    )
    with pytest.raises(ValueError, match="packed=True"):
        export_onnx(packed.fit(TEXTS, LABELS), path)
    assert not path.exists()
