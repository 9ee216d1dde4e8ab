"""FastTextModel: a supervised model of fastText as a classifier of texts."""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from sklearn_hashnlp._sklearn import BaseEstimator, check_fitted
from sklearn_hashnlp._threads import effective_n_jobs, map_blocks
from sklearn_hashnlp.kernels._ragged import Ragged
from sklearn_hashnlp.kernels.linear._fasttext_scores import (
    ONE_VS_ALL,
    SOFTMAX,
    TREE,
    FastTextInput,
    FastTextOutput,
    fasttext_labels,
    fasttext_scores,
    mean_vectors,
    quantized_sigmoid,
)
from sklearn_hashnlp.kernels.ngrams._fasttext_rows import END_OF_LINE, fasttext_rows
from sklearn_hashnlp.persistence._fasttext_file import FastTextFile, Quantized, read_fasttext
from sklearn_hashnlp.persistence._fasttext_state import file_of_state, file_to_state
from sklearn_hashnlp.persistence._values import ModelFormatError
from sklearn_hashnlp.text._fasttext_dictionary import packed_documents

_KINDS = {"softmax": SOFTMAX, "ova": ONE_VS_ALL, "ns": ONE_VS_ALL, "hs": TREE}
_MIN_TEXTS, _MAX_TEXTS = 64, 512  # of a thread, and of a block
_MAX_LABEL_BYTES = 2**28
_BLANK = re.compile(r"[ \t\n\v\f\r\0]")  # what fastText splits at


def load_fasttext(path: str | os.PathLike[str]) -> FastTextModel:
    """Read a supervised model that fastText has saved, a ``.bin`` or ``.ftz`` file.

    All losses are read (softmax, hierarchical softmax, one-vs-all, negative sampling), word and character n-grams,
    quantized models with and without pruned dictionaries, and versions 11 and 12 of the format. fastText itself is not
    needed. The file is read into memory and can be deleted afterwards.

    Parameters
    ----------
    path : str or path-like
        File to read.

    Returns
    -------
    FastTextModel
        A fitted classifier of texts with fastText's predictions.

    Raises
    ------
    ModelFormatError
        If the file is not a model of fastText, is one of word vectors (cbow or skipgram), has a newer version, or is
        incomplete or damaged.
    FileNotFoundError
        If the file does not exist.

    See Also
    --------
    sklearn_hashnlp.classifiers.from_fasttext : Convert the model to a pipeline that can be trained further.
    load_word_vectors : Read the word vectors of a ``.vec`` file.

    Examples
    --------
    >>> from sklearn_hashnlp.persistence import load_fasttext
    >>> load_fasttext("LICENSE")
    Traceback (most recent call last):
        ...
    sklearn_hashnlp.persistence._values.ModelFormatError: LICENSE is not a model of fastText: expected a .bin or .ftz \
file. A .vec file, of word vectors, is read by load_word_vectors, and a model of this package by load_model.
    """
    file = read_fasttext(path)
    try:
        return FastTextModel()._load(file)
    except ValueError as error:
        raise ModelFormatError(f"{path} is damaged or not a model of fastText: {error}.") from error


class FastTextModel(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A supervised model of fastText: a classifier of texts that is fitted already.

    :func:`load_fasttext` and :func:`load_model` make it. ``fit`` returns the model as it is, and ``clone`` the model
    itself, as those of scikit-learn's ``FrozenEstimator``: the model can stand in a ``Pipeline``, a
    ``VotingClassifier`` or a ``CalibratedClassifierCV``, be scored by ``cross_val_score`` and saved by
    :func:`save_model` or joblib.

    Attributes
    ----------
    classes_ : ndarray of str of shape (n_classes,)
        The labels, sorted, without ``__label__``.
    loss_ : {"softmax", "hs", "ova", "ns"}
        The loss that the model was trained with.
    arguments_ : dict
        fastText's arguments in the file, by fastText's names: ``dim``, ``wordNgrams``, ``bucket``, ``minn`` and others.
    n_words_ : int
        Number of words in the dictionary.
    n_parameters_ : int
        Number of numbers in the input and the output matrix; of a quantized matrix those that it stands for.

    See Also
    --------
    load_fasttext : Read a model of fastText.
    sklearn_hashnlp.classifiers.from_fasttext : Convert the model to a pipeline that can be trained further.

    Notes
    -----
    Texts are tokenized as by fastText: at spaces, tabs, line breaks and NUL; uppercase and punctuation are kept, and
    words that begin with ``__label__`` are left out. The end-of-line token ``</s>`` is added to each text. A text is
    one line: where fastText would read a line break as the end of a text, it separates words here.

    Labels are fastText's own. Of two labels with the same probability the same one is predicted as by fastText, the
    less frequent one. A text without any known word or n-gram, for which fastText predicts no label, gets the most
    frequent label, with the probabilities of a text vector of zeros.

    Probabilities are fastText's without the 1e-5 that it adds to each: they sum to one for ``"softmax"`` and ``"hs"``
    (where fastText adds 1e-5 on each level of the tree). For ``"ova"`` and ``"ns"`` each is that of its label alone,
    from fastText's table of the sigmoid, which has steps of up to 0.008; ``decision_function`` has the exact scores.

    References
    ----------
    .. [1] Joulin, Grave, Bojanowski & Mikolov (2017). Bag of tricks for efficient text classification. EACL,
           arXiv:1607.01759.
    .. [2] Joulin, Grave, Bojanowski, Douze, Jegou & Mikolov (2016). FastText.zip: compressing text classification
           models. arXiv:1612.03651.

    Examples
    --------
    >>> from sklearn_hashnlp.persistence import load_fasttext
    >>> model = load_fasttext("tests/persistence/data/fasttext/softmax.bin")
    >>> model.classes_
    array(['baking', 'equipment', 'sauce'], dtype='<U9')
    >>> model.predict(["how long to bake bread", "which pan for an omelet"])
    array(['baking', 'equipment'], dtype='<U9')
    """

    classes_: NDArray[np.str_]
    _parameter_constraints: ClassVar[dict[str, Any]] = {}
    _file: FastTextFile

    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Return the model as it is: it was fitted by fastText.

        Parameters
        ----------
        X, y : any
            Ignored. To train the model further, see :func:`~sklearn_hashnlp.classifiers.from_fasttext`.

        Returns
        -------
        self : FastTextModel
            The model.

        Raises
        ------
        NotFittedError
            If the model was not made by ``load_fasttext`` or ``load_model``.
        """
        check_is_fitted(self)
        return self

    def predict(self, X: Any) -> NDArray[np.str_]:
        """Predict the most probable label of each text.

        Parameters
        ----------
        X : iterable of str
            The texts: a list, tuple or generator, a numpy array, a column of pandas, polars or Arrow.

        Returns
        -------
        ndarray of str of shape (n_texts,)
            The labels.

        Raises
        ------
        ValueError
            If ``X`` is a single string or a table, or a text is NaN or holds a lone surrogate; or if a score is
            infinite, as in a model of huge numbers.
        TypeError
            If a text is not a ``str``. The message names its index.
        """
        check_fitted(self, "classes_")
        labels = self._compute(X, np.int64, (), lambda rows, out: fasttext_labels(*self._matrices, rows, out))
        return np.asarray(self.classes_[self._places[labels]])

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Compute a score for each label.

        Parameters
        ----------
        X : iterable of str
            The texts, as in ``predict``.

        Returns
        -------
        ndarray of shape (n_texts, n_classes), or (n_texts,) for two classes
            The products of text vector and output matrix, before the softmax or the sigmoids, columns in the order of
            ``classes_``; log-probabilities for ``"hs"``. For two classes the score of the second minus that of the
            first.

        Raises
        ------
        ValueError, TypeError
            As in ``predict``.
        """
        scores = self._scores(X).astype(np.float64)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Estimate the probability of each label.

        Parameters
        ----------
        X : iterable of str
            The texts, as in ``predict``.

        Returns
        -------
        ndarray of shape (n_texts, n_classes)
            Probabilities, columns in the order of ``classes_``. Rows sum to one, except for ``"ova"`` and ``"ns"``,
            where each column is the probability of its label.

        Raises
        ------
        ValueError, TypeError
            As in ``predict``.
        """
        return self._probabilities(self._scores(X))

    def _probabilities(self, scores: NDArray[np.float32]) -> NDArray[np.float64]:
        if self.loss_ == "softmax":
            return np.asarray(softmax(scores.astype(np.float64), axis=1))
        return np.exp(scores.astype(np.float64)) if self.loss_ == "hs" else quantized_sigmoid(scores)

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Estimate the logarithm of the probability of each label.

        Parameters
        ----------
        X : iterable of str
            The texts, as in ``predict``.

        Returns
        -------
        ndarray of shape (n_texts, n_classes)
            Logarithms of ``predict_proba``, columns in the order of ``classes_``; -inf for a probability of zero.

        Raises
        ------
        ValueError, TypeError
            As in ``predict``.
        """
        scores = self._scores(X)
        if self.loss_ == "hs":
            return scores.astype(np.float64)
        if self.loss_ == "softmax":
            return np.asarray(log_softmax(scores.astype(np.float64), axis=1))
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(quantized_sigmoid(scores)))

    def predict_topk(self, X: Any, k: int = 5, threshold: float = 0.0) -> list[list[tuple[str, float]]]:
        """Predict the most probable labels of each text with their probabilities, as fastText with ``k``.

        Parameters
        ----------
        X : iterable of str
            The texts, as in ``predict``.
        k : int, default=5
            Maximal number of labels of a text.
        threshold : float, default=0.0
            Minimal probability of a label.

        Returns
        -------
        list of list of (str, float)
            For each text labels and probabilities, the most probable first.

        Raises
        ------
        ValueError, TypeError
            If ``k`` is not an integer of at least 1, or ``threshold`` no number, and as in ``predict``.

        Examples
        --------
        >>> from sklearn_hashnlp.persistence import load_fasttext
        >>> model = load_fasttext("tests/persistence/data/fasttext/softmax.bin")
        >>> [(label, round(p, 2)) for label, p in model.predict_topk(["my oven"], k=2)[0]]
        [('baking', 0.83), ('equipment', 0.17)]
        """
        if not isinstance(k, int | np.integer) or isinstance(k, bool) or k < 1:
            raise ValueError(
                f"{type(self).__name__}.predict_topk needs an integer k of at least 1, got {k!r}. For all labels set "
                "k=len(model.classes_)."
            )
        if not isinstance(threshold, int | float | np.number) or math.isnan(threshold):
            raise ValueError(f"{type(self).__name__}.predict_topk needs a number as threshold, got {threshold!r}.")
        probabilities = self.predict_proba(X)
        best = self._ranking(probabilities)[:, : int(k)]
        labels = self.classes_.tolist()
        return [
            [(labels[i], row[i]) for i in indices if row[i] >= threshold]
            for row, indices in zip(probabilities.tolist(), best.tolist(), strict=True)
        ]

    def _ranking(self, probabilities: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the indices of the labels, the most probable first; of equal ones the last of the file.

        The first is that of ``predict``: for a text without rows the first label of the file, the most frequent one.
        """
        ranked = probabilities.copy()
        ranked[(probabilities == self._probabilities(self._scores_without_rows)).all(axis=1), self._places[0]] = np.inf
        from_end = self._places[::-1]
        return np.asarray(from_end[np.argsort(-ranked[:, from_end], axis=1, kind="stable")])

    def sentence_vectors(self, X: Any) -> NDArray[np.float32]:
        """Compute the vector of each text, the mean over its words and n-grams, as fastText's ``get_sentence_vector``.

        Parameters
        ----------
        X : iterable of str
            The texts, as in ``predict``.

        Returns
        -------
        ndarray of float32 of shape (n_texts, dim)
            The vectors; zeros for a text without known words and n-grams.

        Raises
        ------
        ValueError, TypeError
            As in ``predict``.
        """
        check_fitted(self, "classes_")
        return self._compute(X, np.float32, (self._dim,), self._write_means)

    def word_vectors(self, words: Iterable[str]) -> NDArray[np.float32]:
        """Compute the vector of each word, as fastText's ``get_word_vector``.

        Parameters
        ----------
        words : iterable of str
            Words without whitespace.

        Returns
        -------
        ndarray of float32 of shape (n_words, dim)
            The mean of the row of the word, if it is in the dictionary, and those of its character n-grams, if the
            model has any; zeros if there is neither.

        Raises
        ------
        ValueError
            If a word is no ``str``, is empty, or has a blank of fastText's: a space, tab, NUL or line break.
        """
        check_fitted(self, "classes_")
        if isinstance(words, str):
            raise ValueError(
                f"{type(self).__name__}.word_vectors takes a list of words, got a single string. Wrap it in a list: "
                "word_vectors([word])."
            )
        words = list(words)
        for word in words:
            if not isinstance(word, str) or not word or _BLANK.search(word):
                raise ValueError(
                    f"{type(self).__name__}.word_vectors needs words without whitespace, got {word!r}. The vector of "
                    "a text is computed by sentence_vectors."
                )
        encoded = [word.encode("utf-8", "surrogateescape") for word in words]  # as in ``words_``
        text = np.frombuffer(b"".join(word + b" " for word in encoded) or b" ", dtype=np.uint8)
        offsets = np.cumsum([0, *(len(word) + 1 for word in encoded)], dtype=np.int64)
        tables = self._file.dictionary.tables._replace(word_ngrams=1)
        vectors = np.empty((len(words), self._dim), dtype=np.float32)
        self._write_means(fasttext_rows(tables, text, offsets, slice(0, len(words)), end_of_line=False), vectors)
        ends = [word == END_OF_LINE for word in encoded]
        vectors[ends] = self.sentence_vectors([""])  # the end of the line is all that an empty text has
        return vectors

    @property
    def words_(self) -> list[str]:
        """The words of the dictionary, the most frequent first; bytes that are not UTF-8 are lone surrogates."""
        return self._file.dictionary.entries(0, self.n_words_)

    def __sklearn_clone__(self) -> Self:
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "classes_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags

    def _load(self, file: FastTextFile) -> Self:
        """Set the fitted attributes."""
        self._file = file
        n_labels = len(file.label_counts)
        self.n_words_ = file.dictionary.n_words
        self.arguments_, self.loss_ = file.arguments, file.loss
        prefix = file.dictionary.label_prefix
        entries = file.dictionary.entries(self.n_words_, self.n_words_ + n_labels)
        names = [name.removeprefix(prefix) for name in entries]
        if len(set(names)) < n_labels:
            repeated = Counter(names).most_common(1)[0][0]
            raise ValueError(f"two labels have the name {repeated!r}")
        n_bytes = 4 * n_labels * max(map(len, names), default=0)  # numpy's strings are as wide as the longest
        if n_bytes > _MAX_LABEL_BYTES:
            raise ValueError(f"an array of its {n_labels:,} labels, some very long, would take {n_bytes:,} bytes")
        self.classes_, places = np.unique(np.array(names), return_inverse=True)
        self._places: NDArray[np.int64] = places.astype(np.int64)  # of the file's labels in ``classes_``
        n_rows, self._dim = file.inputs.shape
        self.n_parameters_ = (n_rows + n_labels) * self._dim
        return self

    @cached_property
    def _matrices(self) -> tuple[FastTextInput, FastTextOutput]:
        """The matrices as the kernels read them."""
        file, output = self._file, self._file.output
        no_rows, no_codes = np.empty((0, self._dim), dtype=np.float32), np.empty((0, 1), dtype=np.uint8)
        no_norms = (np.empty(0, dtype=np.uint8), np.empty(0, dtype=np.float32))
        if isinstance(file.inputs, Quantized):
            table = file.inputs
            norms = no_norms if table.norms is None or table.norm_codes is None else (table.norm_codes, table.norms)
            inputs = FastTextInput(no_rows, table.codes, table.centroids, table.part, *norms)
        else:
            inputs = FastTextInput(file.inputs, no_codes, no_rows, 1, *no_norms)
        children = huffman_children(file.label_counts.tolist()) if self.loss_ == "hs" else np.empty((0, 2), np.int32)
        return inputs, FastTextOutput(_KINDS[self.loss_], output, np.ascontiguousarray(output.T), children)

    def _write_means(self, rows: Ragged, vectors: NDArray[np.float32]) -> bool:
        mean_vectors(self._matrices[0], rows, vectors)
        return True

    def _scores(self, X: Any) -> NDArray[np.float32]:
        """Compute scores, columns in the order of ``classes_``."""
        check_fitted(self, "classes_")
        shape = (len(self.classes_),)
        scores = self._compute(X, np.float32, shape, lambda rows, out: fasttext_scores(*self._matrices, rows, out))
        return np.asarray(scores[:, np.argsort(self._places)])

    @property
    def _scores_without_rows(self) -> NDArray[np.float32]:
        """Scores of a text without known words and n-grams, of shape (1, n_classes)."""
        scores = np.empty((1, len(self.classes_)), dtype=np.float32)
        fasttext_scores(*self._matrices, Ragged(np.empty(0, dtype=np.int32), np.zeros(2, dtype=np.int64)), scores)
        return np.asarray(scores[:, np.argsort(self._places)])

    def _compute(
        self, X: Any, dtype: Any, shape: tuple[int, ...], write: Callable[[Ragged, NDArray[Any]], bool]
    ) -> NDArray[Any]:
        """Compute an array with a row for each text, block by block on all processors."""
        caller, dictionary = type(self).__name__, self._file.dictionary
        _ = dictionary.tables, self._matrices  # made once, not by each thread
        parts = [np.empty((0, *shape), dtype=dtype)]
        for texts in packed_documents(X, caller=caller):
            out = np.empty((len(texts.offsets) - 1, *shape), dtype=dtype)

            def work(block: slice, texts: Ragged = texts, out: NDArray[Any] = out) -> None:
                if not write(dictionary.rows(texts.values, texts.offsets, block), out[block]):
                    raise ValueError(
                        f"{caller} cannot predict labels: a score is infinite or not a number. The file holds numbers "
                        "too large for float32, or was damaged."
                    )

            n_threads = 1 if len(out) < 2 * _MIN_TEXTS else effective_n_jobs(-1)
            map_blocks(work, len(out), n_threads, min_rows=_MIN_TEXTS, max_rows=_MAX_TEXTS)
            parts.append(out)
        return parts[1] if len(parts) == 2 else np.concatenate(parts)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        state.pop("_matrices", None)  # made anew in a moment
        return state

    def _get_model_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        return file_to_state(self._file)

    def _set_model_state(self, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        self._load(file_of_state(values, arrays))


def huffman_children(counts: list[int]) -> NDArray[np.int32]:
    """Build fastText's Huffman tree of label counts, shape (n_labels - 1, 2); a node comes after its children."""
    n_labels = len(counts)
    sums = list(counts)
    children = np.empty((n_labels - 1, 2), dtype=np.int32)
    leaf, node = n_labels - 1, n_labels  # the next label from the end of the file, and the next inner node
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
