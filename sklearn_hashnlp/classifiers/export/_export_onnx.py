"""export_onnx: the numeric part of a classifier, from columns and counts to probabilities, as an ONNX model."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from sklearn_hashnlp._hash_specification import hash_constants
from sklearn_hashnlp.classifiers._hash_embedding_classifier import HashEmbeddingClassifier
from sklearn_hashnlp.classifiers._labels import pack_labels
from sklearn_hashnlp.classifiers._sgnn_classifier import SGNNClassifier
from sklearn_hashnlp.classifiers._text_classifier import TextClassifier
from sklearn_hashnlp.classifiers.export._onnx_graph import OnnxGraph
from sklearn_hashnlp.persistence._atomic_files import replacing

_OPSET = 18  # of the first release whose ScatterND adds up, and which has bitwise operators
_IR_VERSION = 9

Arrays = Mapping[str, NDArray[Any]]


def export_onnx(model: Any, path: str | os.PathLike[str]) -> int:
    """Write the numeric part of a fitted classifier as an ONNX model: sparse rows in, scores and probabilities out.

    Texts are not part of the graph: a vectorizer of this package, or another implementation of MurmurHash3 of n-grams,
    turns them into columns and counts. Hashing columns to rows of the tables is: the graph takes any column that a
    classifier can have.

    The inputs of hash embeddings are a CSR matrix of n rows: ``indices`` (int64, columns), ``values`` (float32, counts)
    and ``offsets`` (int64, n + 1), which are ``indices``, ``data`` and ``indptr`` of scipy. The input of an
    ``SGNNClassifier`` is ``rows``, (n, n_columns) of float32. The outputs are ``scores`` and ``probabilities``, both
    (n, n_classes) of float32.

    Parameters
    ----------
    model : estimator
        Fitted ``HashEmbeddingClassifier``, ``SGNNClassifier``, ``TextClassifier`` or ``Pipeline`` that ends with one of
        these, with any loss but ``"hsigmoid"``.
    path : str or path-like
        File to write, such as ``"model.onnx"``. A file of this name is replaced once the new one is complete.

    Returns
    -------
    int
        Size of the file in bytes.

    Raises
    ------
    ImportError
        If the package onnx is not installed.
    TypeError
        If the model is none of these.
    ValueError
        If the model has ``loss="hsigmoid"`` or ``aggregation="median"``, or is an ``SGNNClassifier`` with
        ``packed=True``.
    sklearn.exceptions.NotFittedError
        If the model was not fitted.
    OSError
        If the file cannot be written.

    See Also
    --------
    export_predictor : Writes a classifier with its vectorizer as a Python file that needs numpy alone.

    Notes
    -----
    The labels are in the metadata of the model, key ``"classes"``, as JSON. Probabilities are those of the classifier
    up to rounding of float32 (the classifier adds up in float64). Only rows of the tables that were trained are stored.
    Operators are those of opset 18; hashing takes integers below 2**63 only, so no runtime overflows.

    Rows must have no duplicate columns, as vectorizers return them.

    Examples
    --------
    >>> from sklearn_hashnlp import TextClassifier
    >>> from sklearn_hashnlp.classifiers import export_onnx
    >>> texts = ["a fine, funny film", "dull and far too long", "funny and fine acting", "too dull to sit through"]
    >>> model = TextClassifier(random_state=0).fit(texts, ["good", "bad", "good", "bad"])
    >>> size = export_onnx(model, "model.onnx")  # doctest: +SKIP
    >>> import onnxruntime  # doctest: +SKIP
    >>> session = onnxruntime.InferenceSession("model.onnx")  # doctest: +SKIP
    >>> rows = model.pipeline_[0].transform(["fine and funny"])
    >>> indices, offsets = rows.indices.astype("int64"), rows.indptr.astype("int64")
    >>> inputs = {"indices": indices, "values": rows.data.astype("float32"), "offsets": offsets}
    >>> scores, probabilities = session.run(None, inputs)  # doctest: +SKIP
    """
    if find_spec("onnx") is None:
        raise ImportError("export_onnx needs onnx. Install it with: pip install onnx")
    classifier = _classifier_of(model)
    check_is_fitted(classifier)
    state, arrays = classifier._get_model_state()
    loss = state.get("probabilities", {})
    if loss.get("loss") == "hsigmoid":
        raise ValueError("export_onnx: a classifier with loss='hsigmoid' cannot be exported. Choose another loss.")
    graph = OnnxGraph()
    if isinstance(classifier, HashEmbeddingClassifier):
        hidden = _embed(graph, state["architecture"], arrays)
    else:
        hidden = _standardize(graph, state["architecture"], classifier)
    scores = _dense_layers(graph, hidden, classifier.net_.module_.head)
    probabilities = _probabilities(graph, scores, loss)
    content = graph.serialize(
        {"scores": scores, "probabilities": probabilities},
        n_columns=len(classifier.classes_),
        metadata={
            "classes": json.dumps(pack_labels(classifier.classes_)),
            "multilabel": json.dumps(_is_multilabel(loss)),
        },
        opset=_OPSET,
        ir_version=_IR_VERSION,
    )
    with replacing(Path(path)) as unfinished:
        unfinished.write_bytes(content)
    return len(content)


def _classifier_of(model: Any) -> Any:
    """Return the classifier of rows in a model."""
    if isinstance(model, TextClassifier):
        check_is_fitted(model)
    inside = model.pipeline_ if isinstance(model, TextClassifier) else model
    inside = inside[-1] if isinstance(inside, Pipeline) else inside
    if isinstance(inside, TextClassifier):
        return _classifier_of(inside)
    if not isinstance(inside, HashEmbeddingClassifier | SGNNClassifier):
        raise TypeError(
            "export_onnx takes a HashEmbeddingClassifier, an SGNNClassifier, a TextClassifier or a Pipeline that ends "
            f"with one of these; got {type(model).__name__}{f' with {type(inside).__name__}' * (inside is not model)}."
        )
    return inside


def _embed(graph: OnnxGraph, architecture: Mapping[str, Any], arrays: Arrays) -> str:
    """Add the bag of hash embeddings; return the name of the document vectors, (n, width)."""
    standard = architecture["variant"] == "standard"
    if architecture["aggregation"] == "median" and not standard:
        raise ValueError("export_onnx: aggregation='median' cannot be exported. Set it to 'sum' or 'concat'.")
    indices = graph.input("indices", np.int64, ["n_values"])
    values = graph.input("values", np.float32, ["n_values"])
    offsets = graph.input("offsets", np.int64, ["n_offsets"])
    n_rows = graph.add("Sub", graph.size(offsets), graph.constant([1]))
    owners = _owners(graph, offsets, graph.size(indices))

    n_hashes = 1 if standard else architecture["num_hashes"]
    first, *others = hash_constants(architecture["hash_seed"], n_hashes + 1)
    mixed = _mix(graph, indices)
    rows = (
        _slots(graph, mixed, first, architecture["num_embeddings"]) if architecture.get("hash_rows", True) else indices
    )
    counts = graph.add("Unsqueeze", values, graph.constant([1]))
    if standard:
        slots, weights = [rows], [counts]
    else:
        if architecture["variant"] == "paper":
            mixed = _mix(graph, rows)
        slots = [_slots(graph, mixed, pair, architecture["num_buckets"]) for pair in others]
        importance = _rows_of(graph, arrays, "bag.importance", rows, architecture.get("importance_init", 0.0))
        products = graph.add("Mul", importance, counts)
        weights = [graph.add("Gather", products, graph.constant([i]), axis=1) for i in range(n_hashes)]

    def add_up(name: str) -> str:
        return graph.add_rows(name, owners, n_rows)

    parts = [
        add_up(graph.add("Mul", weight, _rows_of(graph, arrays, "bag.pool", slot, 0.0)))
        for weight, slot in zip(weights, slots, strict=True)
    ]
    if architecture["aggregation"] != "concat" or standard:
        parts = [graph.add("Sum", *parts)]
    if architecture["append_weight"] and not standard:
        parts += map(add_up, weights)
    documents = graph.add("Concat", *parts, axis=1)
    norm = architecture["normalize"]
    if norm is None:
        return documents
    sizes = [add_up(graph.add("Mul", one, one) if norm == "l2" else graph.add("Abs", one)) for one in weights]
    size = graph.add("Mul", graph.add("Sum", *sizes), graph.constant(np.float32(1 / n_hashes)))
    size = graph.add("Sqrt", size) if norm == "l2" else size
    one = graph.constant(np.float32(1))
    is_positive = graph.add("Greater", size, graph.constant(np.float32(0)))
    return graph.add("Div", documents, graph.add("Where", is_positive, size, one))


def _owners(graph: OnnxGraph, offsets: str, n_values: str) -> str:
    """Return the row of each value: how many rows begin at it or before, without the first."""
    begins = graph.add("Slice", offsets, graph.constant([1]), graph.constant([-1]))
    length = graph.add("Add", n_values, graph.constant([1]))  # rows at the end may be empty
    zeros = graph.filled(length, np.int64(0))
    ones = graph.filled(graph.size(begins), np.int64(1))
    marks = graph.add("ScatterElements", zeros, begins, ones, axis=0, reduction="add")
    counted = graph.add("CumSum", marks, graph.constant(np.int64(0)))
    return graph.add("Slice", counted, graph.constant([0]), n_values)


def _mix(graph: OnnxGraph, keys: str) -> str:
    """Return ``fmix32`` of the low 32 bits of keys, by products below 2**48."""
    low = graph.modulo(keys, 2**32)
    low = graph.times_modulo(graph.xor_shifted(low, 16), 0x85EBCA6B)
    low = graph.times_modulo(graph.xor_shifted(low, 13), 0xC2B2AE35)
    return graph.xor_shifted(low, 16)


def _slots(graph: OnnxGraph, mixed: str, constants: tuple[int, ...], size: int) -> str:
    """Return ``((a * key + b) >> 32) * size >> 32``, modulo 2**64, by products below 2**63."""
    a, b = constants[:2]  # columns have no high half
    high_a, low_a = divmod(a, 2**32)
    upper, lower = divmod(low_a, 2**16)
    # a_low * key + b_low, of which the upper bits are carried.
    last = graph.plus(graph.times(mixed, lower), b % 2**32)
    carried = graph.shifted(graph.add("Add", graph.times(mixed, upper), graph.shifted(last, 16)), 16)
    high = graph.add("Add", graph.times_modulo(mixed, high_a), carried)
    high = graph.modulo(graph.plus(high, b >> 32), 2**32)
    return graph.shifted(graph.times(high, size), 32)


def _rows_of(graph: OnnxGraph, arrays: Arrays, name: str, rows: str, initial: float) -> str:
    """Return rows of a table, of which only those may be stored that were trained; the others are initial."""
    if name in arrays:  # a whole table
        return graph.add("Gather", graph.constant(arrays[name].astype(np.float32)), rows, axis=0)
    values = arrays[f"{name}.values"].astype(np.float32)
    if f"{name}.bitmap" in arrays:
        stored = np.flatnonzero(np.unpackbits(arrays[f"{name}.bitmap"]))
    elif f"{name}.rows" in arrays:
        stored = arrays[f"{name}.rows"]
    else:
        return graph.add("Gather", graph.constant(values), rows, axis=0)
    table = np.concatenate([values, np.full((1, values.shape[1]), initial, dtype=np.float32)])
    return graph.add("Gather", graph.constant(table), graph.find(stored.astype(np.int64), rows), axis=0)


def _standardize(graph: OnnxGraph, architecture: Mapping[str, Any], classifier: SGNNClassifier) -> str:
    """Add the standardization of dense rows."""
    if architecture.get("packed"):
        raise ValueError(
            "export_onnx: an SGNNClassifier with packed=True cannot be exported. Set packed=False, and output='binary' "
            "of SGNNProjector, and train again."
        )
    standardize = classifier.net_.module_.standardize
    mean = standardize.mean.cpu().numpy()
    rows = graph.input("rows", np.float32, ["n_rows", len(mean)])
    centered = graph.add("Sub", rows, graph.constant(mean.astype(np.float32)))
    return graph.add("Div", centered, graph.constant(np.float32(standardize.scale.item())))


def _dense_layers(graph: OnnxGraph, hidden: str, layers: Any) -> str:
    """Add linear layers, batch normalization and ReLU; dropout is for training."""
    for layer in layers:
        kind = type(layer).__name__
        tensors = {name: value.detach().cpu().numpy() for name, value in layer.state_dict().items()}
        if kind == "Linear":
            weight, bias = (graph.constant(tensors[name].astype(np.float32)) for name in ("weight", "bias"))
            hidden = graph.add("Gemm", hidden, weight, bias, transB=1)
        elif kind == "BatchNorm1d":
            scale = tensors["weight"] / np.sqrt(tensors["running_var"].astype(np.float64) + layer.eps)
            shift = tensors["bias"] - tensors["running_mean"] * scale
            scaled = graph.add("Mul", hidden, graph.constant(scale.astype(np.float32)))
            hidden = graph.add("Add", scaled, graph.constant(shift.astype(np.float32)))
        elif kind == "ReLU":
            hidden = graph.add("Relu", hidden)
    return hidden


def _probabilities(graph: OnnxGraph, scores: str, loss: Mapping[str, Any]) -> str:
    """Add the link of the loss and its temperature."""
    inverse_temperature = graph.constant(np.float32(loss.get("sharpness", 1.0)))
    if _is_multilabel(loss):
        return graph.add("Sigmoid", graph.add("Mul", scores, inverse_temperature))
    if loss.get("loss") == "ova":  # log-sigmoids, without overflow
        scores = graph.add("Neg", graph.add("Softplus", graph.add("Neg", scores)))
    return graph.add("Softmax", graph.add("Mul", scores, inverse_temperature), axis=1)


def _is_multilabel(loss: Mapping[str, Any]) -> bool:
    return bool(loss.get("multilabel", False))
