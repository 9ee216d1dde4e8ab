"""load_fasttext: a fastText model as a pipeline of a vectorizer and a HashEmbeddingClassifier."""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from sklearn_hashnlp.classifiers._calibration import Calibration
from sklearn_hashnlp.classifiers._hash_embedding_classifier import HashEmbeddingClassifier
from sklearn_hashnlp.classifiers._labels import Labels
from sklearn_hashnlp.classifiers._losses import FastTextLoss, LossName, TreeLoss, make_loss
from sklearn_hashnlp.classifiers.hash_embedding._embedding_tables import EmbeddingTables
from sklearn_hashnlp.classifiers.hash_embedding._model import HashEmbeddingModel, spec_of
from sklearn_hashnlp.kernels.linear._linear_model import LinearModel
from sklearn_hashnlp.persistence._fasttext_file import FastTextFile, read_fasttext
from sklearn_hashnlp.text._fasttext_dictionary import MAX_LENGTH
from sklearn_hashnlp.text._fasttext_vectorizer import FastTextVectorizer
from sklearn_hashnlp.training._settings import draw_seeds
from sklearn_hashnlp.trees import SoftmaxTree

_LOSSES: dict[str, LossName] = {
    "softmax": "softmax",
    "hs": TreeLoss.name,
    "ova": FastTextLoss.name,
    "ns": FastTextLoss.name,
}


def load_fasttext(path: str | os.PathLike[str]) -> Pipeline:
    """Load a supervised model of fastText (``.bin`` or ``.ftz``) as a pipeline that takes texts.

    The pipeline is a ``FastTextVectorizer`` with the dictionary of the model and a
    :class:`HashEmbeddingClassifier` (``variant="standard"``) with its two matrices. ``partial_fit``
    of the classifier continues training, :func:`~sklearn_hashnlp.inspection.explain` explains
    predictions, and :func:`~sklearn_hashnlp.persistence.save_model` and joblib save the pipeline.
    All losses are read (softmax, hierarchical softmax, one-vs-all, negative sampling), word and
    character n-grams, quantized models with and without pruned dictionaries, and versions 11 and 12
    of the format. fastText need not be installed.

    Parameters
    ----------
    path : str or path-like
        File to read.

    Returns
    -------
    Pipeline
        The steps ``"vectorizer"`` and ``"classifier"``, fitted.

    Raises
    ------
    ModelFormatError
        If the file is not a supervised model of fastText, has a newer version, is damaged, or does
        not fit into memory.
    FileNotFoundError
        If the file does not exist.

    See Also
    --------
    HashEmbeddingClassifier.document_vectors : Compute fastText's sentence vectors.
    sklearn_hashnlp.text.FastTextVectorizer.transform_words : Count the rows of words, for
        fastText's word vectors.
    sklearn_hashnlp.persistence.load_word_vectors : Read the word vectors of a ``.vec`` file.

    Notes
    -----
    Texts are tokenized as by fastText, but a line break separates words and does not end a text.

    Predicted labels equal fastText's, except for ties. A text without known words and n-grams, for
    which fastText predicts no label, gets the most frequent label, with the label shares in
    fastText's training as probabilities.

    Probabilities are fastText's without the 1e-5 that it adds to each. Rows sum to one for
    ``"softmax"`` and ``"hs"``. For ``"ova"`` and ``"ns"`` each label has its own probability, from
    fastText's table of the sigmoid with steps of up to 0.008, and ``loss_`` is ``"fasttext_ova"``;
    ``decision_function`` returns the exact scores.

    A quantized matrix is decompressed to float32;
    ``save_model(pipeline, folder, precision="int8")`` stores a byte for each number.

    References
    ----------
    .. [1] Joulin, Grave, Bojanowski & Mikolov (2017). Bag of tricks for efficient text
           classification. EACL, arXiv:1607.01759.
    .. [2] Joulin, Grave, Bojanowski, Douze, Jegou & Mikolov (2016). FastText.zip: compressing text
           classification models. arXiv:1612.03651.

    Examples
    --------
    >>> from sklearn_hashnlp.classifiers import load_fasttext
    >>> pipeline = load_fasttext("tests/persistence/data/fasttext/softmax.bin")
    >>> pipeline.predict(["how long to bake bread"])
    array(['baking'], dtype='<U9')
    >>> X = pipeline["vectorizer"].transform(
    ...     ["which pan for an omelet", "how to bake an omelet"]
    ... )
    >>> pipeline["classifier"].document_vectors(X).shape
    (2, 5)
    >>> classifier = pipeline["classifier"]
    >>> classifier.partial_fit(X, ["equipment", "baking"]).predict(X)
    array(['equipment', 'baking'], dtype='<U9')
    """
    return fasttext_pipeline(read_fasttext(path))


def fasttext_pipeline(file: FastTextFile) -> Pipeline:
    """Build the pipeline of a file that was read."""
    dictionary = file.dictionary
    vectorizer = FastTextVectorizer(
        word_ngrams=max(dictionary.word_ngrams, 1),
        bucket=max(dictionary.bucket, 1),
        min_n=min(max(dictionary.min_n, 0), MAX_LENGTH),
        max_n=max(dictionary.max_n, 0),
        label_prefix=dictionary.label_prefix,
    )._set_dictionary(dictionary)
    return Pipeline([("vectorizer", vectorizer), ("classifier", _classifier(file))])


def _classifier(file: FastTextFile) -> HashEmbeddingClassifier:
    n_rows, loss = file.dictionary.n_rows, _LOSSES[file.arguments["loss"]]
    order = np.argsort(file.labels)  # the labels of the file in the order of ``classes_``
    tree, nodes = (
        fasttext_tree(file.label_counts, np.argsort(order))
        if loss == TreeLoss.name
        else (None, order)
    )
    weight = file.output[nodes]
    classifier = HashEmbeddingClassifier(
        variant="standard",
        embedding_dim=file.inputs.shape[1],
        embedding=EmbeddingTables(hash_rows=False),
        normalize="l1",
        loss="auto" if loss == FastTextLoss.name else loss,  # further training keeps the loss
        tree="two_level" if tree is None else tree,
        calibrate=False,
        random_state=0,
    )
    classifier.n_features_in_ = n_rows
    counts = file.label_counts[order].astype(np.float64)
    labels = Labels(file.labels[order], multilabel=False)
    classifier._keep_labels(labels)
    calibration = Calibration(np.append(counts, counts.sum()), int(counts.sum()))
    classifier._idf_divisor, classifier.solver_ = 1.0, "sgd"
    architecture, bias = (
        classifier._architecture(len(order), draw_seeds(0).hash),
        np.zeros(len(weight), np.float32),
    )
    linear = LinearModel(
        spec_of(architecture), file.inputs[:n_rows], None, np.ascontiguousarray(weight), bias
    )
    classifier._keep_model(
        HashEmbeddingModel.of_linear(architecture, linear, make_loss(loss), calibration, tree=tree),
        [],
    )
    return classifier


def fasttext_tree(
    counts: NDArray[np.int64], classes: NDArray[np.int64]
) -> tuple[SoftmaxTree, NDArray[np.int64]]:
    """Return fastText's tree of labels, and its numbers of the nodes: here the first is the root.

    ``classes`` has the indices of the labels in ``classes_``.
    """
    children = huffman_children(counts.tolist())
    n_nodes = len(children)
    is_label = children <= n_nodes
    nodes = np.where(is_label, ~classes[np.where(is_label, children, 0)], 2 * n_nodes - children)
    tree = SoftmaxTree(nodes[::-1].ravel() if n_nodes else [], np.arange(0, 2 * n_nodes + 1, 2))
    return tree, np.arange(n_nodes)[::-1]


def huffman_children(counts: list[int]) -> NDArray[np.int32]:
    """Build fastText's Huffman tree of descending label counts; child n_labels + i is node i."""
    n_labels = len(counts)
    sums = list(counts)
    children = np.empty((n_labels - 1, 2), dtype=np.int32)
    # the next label from the end of the file, and the next inner node
    leaf, node = n_labels - 1, n_labels
    for inner in range(n_labels - 1):
        for side in range(2):
            if leaf >= 0 and (node == len(sums) or sums[leaf] < sums[node]):
                children[inner, side] = leaf
                leaf -= 1
            else:
                children[inner, side] = node
                node += 1
        sums.append(sums[children[inner, 0]] + sums[children[inner, 1]])
    return children
