"""save_fasttext: write a pipeline in fastText's file format."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from sklearn_hashnlp.classifiers._hash_embedding_classifier import HashEmbeddingClassifier
from sklearn_hashnlp.classifiers._losses import FastTextLoss, OneVsRestLoss, TreeLoss
from sklearn_hashnlp.classifiers.fasttext._load_fasttext import fasttext_tree
from sklearn_hashnlp.classifiers.hash_embedding._model import POOL
from sklearn_hashnlp.persistence._fasttext_file import FastTextFile, write_fasttext
from sklearn_hashnlp.text._fasttext_dictionary import LABEL_PREFIX, FastTextDictionary
from sklearn_hashnlp.text._fasttext_vectorizer import FastTextVectorizer


def save_fasttext(model: Pipeline, path: str | os.PathLike[str]) -> None:
    """Write a pipeline as a ``.bin`` or ``.ftz`` file that fastText reads.

    fastText, and the programs that read its files, predict the labels and the probabilities of the
    pipeline. The same pipeline always gives the same bytes.

    Parameters
    ----------
    model : Pipeline
        A fitted pipeline of :func:`make_fasttext_classifier` or :func:`load_fasttext`, also after
        further training.
    path : str or path-like
        File to write. The input matrix of an ``.ftz`` file is quantized: a byte for each two
        numbers. An existing file is replaced when the new one is complete.

    Raises
    ------
    TypeError
        If the model is not such a pipeline.
    ValueError
        If a part of it has no place in a file of fastText: it is named, with the parameter to
        change.

    See Also
    --------
    load_fasttext : Load a file of fastText.
    sklearn_hashnlp.persistence.save_model : Save any model in a folder, for further training.

    Notes
    -----
    A file of fastText has no bias: it is in one more column of the output matrix, where all rows of
    the input matrix are 1. The temperature of calibrated probabilities is a factor of the output
    matrix. Labels become strings. Scores of ``calibrate="auto"``, which depend on the length of a
    text, have no place in a file.

    fastText reads the probabilities of ``"ova"`` from a table with steps of up to 0.008, and gives
    a text without known words no label.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn_hashnlp.classifiers import (
    ...     load_fasttext,
    ...     make_fasttext_classifier,
    ...     save_fasttext,
    ... )
    >>> texts = [
    ...     "a fine film",
    ...     "so dull",
    ...     "funny and fine",
    ...     "dull, and far too long",
    ... ]
    >>> labels = ["good", "bad", "good", "bad"]
    >>> model = make_fasttext_classifier().fit(texts, labels)
    >>> path = os.path.join(tempfile.mkdtemp(), "model.bin")
    >>> save_fasttext(model, path)
    >>> load_fasttext(path).predict(["a funny film"])
    array(['good'], dtype='<U4')
    """
    if Path(path).suffix not in (".bin", ".ftz"):
        raise ValueError(
            f"save_fasttext writes files that end with .bin or .ftz, got {os.fspath(path)!r}."
        )
    content = fasttext_file(model)
    if content.dictionary.pruned is not None and Path(path).suffix != ".ftz":
        raise ValueError(
            "save_fasttext: the dictionary of this model is pruned, which only quantized files "
            f"can be. Give the file a name that ends with .ftz, got {os.fspath(path)!r}."
        )
    write_fasttext(content, path)


def fasttext_file(model: Pipeline) -> FastTextFile:
    """Return the content of the file of a pipeline."""
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else []
    if [type(step) for step in steps] != [FastTextVectorizer, HashEmbeddingClassifier]:
        found = " and ".join(type(step).__name__ for step in steps) or type(model).__name__
        raise TypeError(
            "save_fasttext takes a pipeline of a FastTextVectorizer and a "
            "HashEmbeddingClassifier, as make_fasttext_classifier and load_fasttext return, got "
            f"{found}. Train a pipeline of make_fasttext_classifier, whose parameters are "
            "fastText's."
        )
    vectorizer, classifier = steps
    check_is_fitted(model)
    dictionary: FastTextDictionary = vectorizer._dictionary
    if (reason := next(_obstacles(dictionary, classifier), None)) is not None:
        raise ValueError(f"save_fasttext: a file of fastText has no place for {reason}")
    labels, counts, order = _labels(dictionary, classifier)
    loss, inputs, output, bias = _matrices(classifier, dictionary.n_rows, counts, order)
    # dimensions are rounded up to a multiple of four
    if (used := np.flatnonzero(output.any(axis=0))).size:
        inputs, output = inputs[:, used], output[:, used]
    if bias.any():
        inputs = np.concatenate([inputs, np.ones((len(inputs), 1), dtype=np.float32)], axis=1)
        output = np.concatenate([output, bias[:, np.newaxis]], axis=1)
    arguments = {"loss": loss, "minCount": int(vectorizer.min_count)}
    return FastTextFile(arguments, dictionary, labels, counts, inputs, output)


def _obstacles(
    dictionary: FastTextDictionary, classifier: HashEmbeddingClassifier
) -> Iterator[str]:
    """Yield what has no place in a file, and what to do."""
    if dictionary.label_prefix != LABEL_PREFIX:
        yield (
            f"label_prefix={dictionary.label_prefix!r}: fastText skips words with its own. Set "
            f"{LABEL_PREFIX!r}."
        )
    spec, loss = classifier._model.spec, classifier._loss
    if spec.has_importance:
        yield (
            "importance weights, such as inverse document frequencies, and several hash functions: "
            f"variant={classifier.variant!r}. Set variant='standard'."
        )
    if spec.hash_rows:
        yield "rows that are hashed once more. Set embedding=EmbeddingTables(hash_rows=False)."
    if spec.normalize != "l1":
        yield (
            f"normalize={classifier.normalize!r}: fastText divides by the number of rows. Set "
            "normalize='l1'."
        )
    if classifier.hidden_layer_sizes:
        yield f"hidden_layer_sizes={classifier.hidden_layer_sizes!r}. Set hidden_layer_sizes=()."
    if classifier._calibration.half:
        yield (
            "scores that depend on the length of a text: "
            f"calibrate={classifier.calibrate!r}. Set 'temperature'."
        )
    if type(loss) is OneVsRestLoss and not loss.multilabel:
        yield (
            "loss='ova' with one label per text, whose probabilities sum to one here. Set "
            "loss='softmax'."
        )
    if any("\0" in str(label) for label in classifier.classes_):
        yield "a label with the character NUL. Rename it."


def _labels(
    dictionary: FastTextDictionary, classifier: HashEmbeddingClassifier
) -> tuple[NDArray[np.str_], NDArray[np.int64], NDArray[np.int64]]:
    """Return the labels in the order of the file, their counts and indices in ``classes_``."""
    names = [str(label) for label in classifier.classes_]
    n_words, n_entries = dictionary.n_words, len(dictionary.counts)
    labels = [
        label.removeprefix(dictionary.label_prefix)
        for label in dictionary.entries(n_words, n_entries)
    ]
    if sorted(labels) == sorted(names):  # of a file: its tree depends on the counts
        index_of = {name: index for index, name in enumerate(names)}
        return (
            np.array(labels),
            dictionary.counts[n_words:],
            np.array([index_of[label] for label in labels]),
        )
    counts = classifier._calibration.class_counts[:-1]
    order = np.argsort(-counts, kind="stable")
    return np.array(names)[order], np.maximum(counts[order], 1).astype(np.int64), order


def _matrices(
    classifier: HashEmbeddingClassifier,
    n_rows: int,
    counts: NDArray[np.int64],
    order: NDArray[np.int64],
) -> tuple[str, NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    """Return fastText's loss name, the input and output matrices, and the bias of each output."""
    model, loss = classifier._model, classifier._loss
    inputs, (weight, bias) = model.weights[POOL][:n_rows], model.last_layer
    if not isinstance(loss, TreeLoss):
        name = "ova" if isinstance(loss, OneVsRestLoss) else "softmax"
        factor = 1.0 if isinstance(loss, FastTextLoss) else loss.inverse_temperature
        return name, inputs, factor * weight[order], factor * bias[order]
    tree, nodes = fasttext_tree(counts, order)
    if model.tree != tree:
        raise ValueError(
            "save_fasttext: a file of fastText has no place for a tree other than Huffman's of "
            "the counts of its labels. Set loss='softmax'."
        )
    return (
        "hs",
        inputs,
        np.pad(weight[nodes], ((0, 1), (0, 0))),
        np.pad(bias[nodes], (0, 1)),
    )  # the last row is not used
