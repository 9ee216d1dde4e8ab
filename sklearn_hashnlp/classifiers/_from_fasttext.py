"""from_fasttext: a model of fastText as a pipeline of a vectorizer and a HashEmbeddingClassifier."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from sklearn_hashnlp.classifiers._hash_embedding_classifier import HashEmbeddingClassifier
from sklearn_hashnlp.classifiers._labels import Labels
from sklearn_hashnlp.classifiers._losses import LossName, make_loss
from sklearn_hashnlp.classifiers.hash_embedding._embedding_tables import EmbeddingTables
from sklearn_hashnlp.classifiers.hash_embedding._linear_fit import LinearFit, spec_of
from sklearn_hashnlp.kernels.linear._linear_model import LinearModel
from sklearn_hashnlp.persistence import FastTextModel
from sklearn_hashnlp.persistence._fasttext_file import Quantized
from sklearn_hashnlp.persistence._fasttext_model import huffman_children
from sklearn_hashnlp.text import FastTextVectorizer
from sklearn_hashnlp.text._fasttext_dictionary import MAX_LENGTH
from sklearn_hashnlp.training._settings import Seeds, draw_seeds
from sklearn_hashnlp.trees import SoftmaxTree

_LOSSES: dict[str, LossName] = {"softmax": "softmax", "hs": "hsigmoid", "ova": "ova", "ns": "ova"}


def from_fasttext(model: FastTextModel, *, exact: bool = True) -> Pipeline:
    """Convert a model of fastText to a pipeline of this package, which can be trained further.

    The pipeline is a :class:`~sklearn_hashnlp.text.FastTextVectorizer` with the dictionary of the model and a
    :class:`HashEmbeddingClassifier` (``variant="standard"``) with its two matrices. Its labels are those of the model,
    and its probabilities differ by rounding only. ``partial_fit`` of the classifier continues the training;
    :func:`~sklearn_hashnlp.persistence.save_model` and joblib save the pipeline.

    Parameters
    ----------
    model : FastTextModel
        What :func:`~sklearn_hashnlp.persistence.load_fasttext` returned.
    exact : bool, default=True
        Whether to raise an error where the pipeline does not predict the same. With False a model with one-vs-all or
        negative sampling is converted to one with ``loss="ova"``: the same scores, but exact sigmoids divided by their
        sum as probabilities, and another label where several sigmoids are equal in fastText's table.

    Returns
    -------
    Pipeline
        The steps ``"vectorizer"`` and ``"classifier"``, fitted.

    Raises
    ------
    TypeError
        If ``model`` is no FastTextModel.
    ValueError
        If there is no exact pipeline and ``exact`` is True: of a model with one-vs-all or negative sampling; or if the
        model has one label only.

    See Also
    --------
    sklearn_hashnlp.persistence.load_fasttext : Read a model of fastText.

    Notes
    -----
    A quantized input matrix is computed, and takes four bytes for each of its numbers. Where a small model is wanted
    that is not trained further, the FastTextModel itself keeps the codes.

    A text without known words and n-grams gets the first label of ``classes_`` by softmax, and the most frequent one
    by the FastTextModel; fastText predicts none.

    Examples
    --------
    >>> from sklearn_hashnlp.classifiers import from_fasttext
    >>> from sklearn_hashnlp.persistence import load_fasttext
    >>> pipeline = from_fasttext(load_fasttext("tests/persistence/data/fasttext/softmax.bin"))
    >>> pipeline.predict(["how long to bake bread"])
    array(['baking'], dtype='<U9')
    >>> X = pipeline[:-1].transform(["which pan for an omelet", "how to bake an omelet"])
    >>> pipeline[-1].partial_fit(X, ["equipment", "baking"]).predict(X)
    array(['equipment', 'baking'], dtype='<U9')
    """
    if not isinstance(model, FastTextModel):
        raise TypeError(
            f"from_fasttext takes a FastTextModel, as load_fasttext returns it; got {type(model).__name__}."
        )
    model.fit()
    if exact and model.loss_ in ("ova", "ns"):
        raise ValueError(
            f"from_fasttext: no pipeline predicts exactly what this model does. Its loss is {model.loss_!r}, whose "
            "probabilities fastText takes from a table of the sigmoid with steps of up to 0.008; those of "
            "HashEmbeddingClassifier are exact. Use the model itself, which is a classifier of texts, or set "
            "exact=False for a pipeline with the same scores."
        )
    if len(model.classes_) < 2:
        raise ValueError(
            f"from_fasttext: the model has one label only, {str(model.classes_[0])!r}, and HashEmbeddingClassifier "
            "needs two or more. Use the model itself."
        )
    vectorizer = _vectorizer(model)
    classifier = _classifier(model, vectorizer.n_features_)
    return Pipeline([("vectorizer", vectorizer), ("classifier", classifier)])


def _vectorizer(model: FastTextModel) -> FastTextVectorizer:
    dictionary = model._file.dictionary
    return FastTextVectorizer(
        word_ngrams=max(dictionary.word_ngrams, 1),
        bucket=max(dictionary.bucket, 1),
        min_n=min(max(dictionary.min_n, 0), MAX_LENGTH),
        max_n=max(dictionary.max_n, 0),
        label_prefix=dictionary.label_prefix,
    )._set_dictionary(dictionary)


def _classifier(model: FastTextModel, n_rows: int) -> HashEmbeddingClassifier:
    file = model._file
    inputs = file.inputs.dense() if isinstance(file.inputs, Quantized) else file.inputs
    n_classes, loss = len(model.classes_), _LOSSES[model.loss_]
    tree, weight = (None, file.output[np.argsort(model._places)]) if model.loss_ != "hs" else _tree(model)
    classifier = HashEmbeddingClassifier(
        variant="standard",
        n_embeddings=n_rows,
        embedding_dim=inputs.shape[1],
        embedding=EmbeddingTables(hash_rows=False),
        normalize="l1",
        loss=loss,
        tree="two_level" if tree is None else tree,
        calibrate=False,
        random_state=0,
    )
    seeds = draw_seeds(0)
    if tree is None:
        architecture = classifier._architecture(n_classes, seeds.hash)
        linear = LinearModel.zeros(spec_of(architecture), n_classes)
        linear.pool[:], linear.weight[:] = inputs[:n_rows], weight
        classifier._keep_linear(LinearFit(architecture, linear, make_loss(loss)), [])
    else:
        _keep_tree_net(classifier, seeds, inputs[:n_rows], weight)
    classifier._keep_labels(Labels(model.classes_, multilabel=False), 0, np.zeros(n_classes + 1))
    classifier.n_features_in_ = n_rows
    classifier._tree_name, classifier._idf_divisor, classifier._enough_evidence = None, 1.0, 0.0
    classifier.solver_ = "sgd"
    return classifier


def _keep_tree_net(
    classifier: HashEmbeddingClassifier, seeds: Seeds, pool: NDArray[np.float32], weight: NDArray[np.float32]
) -> None:
    """Set a net whose last layer is a tree."""
    import torch

    from sklearn_hashnlp.training._torch_scope import plain_torch

    net = classifier._new_net(classifier.tree.n_classes, None, seeds, "cpu")  # type: ignore[union-attr]  # a tree
    bag, last = net.module_.bag, net.module_.head[-1]
    with plain_torch(), torch.no_grad():
        bag.pool.numpy()[:], last.weight.numpy()[:] = pool, weight
        last.bias.zero_()
    net.criterion_ = make_loss("hsigmoid", net.module_.head)
    classifier._keep_net(net, [])


def _tree(model: FastTextModel) -> tuple[SoftmaxTree, NDArray[np.float32]]:
    """Return fastText's tree and the weights of its nodes: there the root is the last node, here the first."""
    children = huffman_children(model._file.label_counts.tolist())
    n_nodes = len(children)
    labels = children <= n_nodes
    numbers = np.where(labels, ~model._places[np.where(labels, children, 0)], 2 * n_nodes - children)
    tree = SoftmaxTree(numbers[::-1].ravel(), np.arange(0, 2 * n_nodes + 1, 2))
    return tree, model._file.output[:n_nodes][::-1]
