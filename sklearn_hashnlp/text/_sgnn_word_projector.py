"""The mean projection of a text's words."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin

from sklearn_hashnlp._sklearn import (
    ArrayTransformerMixin,
    BaseEstimator,
    TextInputMixin,
    fit_context,
)
from sklearn_hashnlp.kernels._rows import mean_rows
from sklearn_hashnlp.text._char_ngram_featurizer import CharNgramFeaturizer
from sklearn_hashnlp.text._documents import as_documents, check_column, in_chunks
from sklearn_hashnlp.text._sgnn_projector import SGNNProjector
from sklearn_hashnlp.text._word_projections import encode_words, with_array_output

# Characters per chunk of texts: enough that few words are in two chunks, few enough that their
# projections fit into memory (about 60,000 distinct words, 70 MB).
_CHARACTERS = 2**22


# scikit-learn has no types
class SGNNWordProjector(
    TextInputMixin,
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    ArrayTransformerMixin,
    BaseEstimator,
):
    """Average projections of a text's words: the word level of self-governing neural networks [1]_.

    A column is the share of words on one side of a hyperplane. A pipeline of
    :class:`CharNgramFeaturizer` and :class:`SGNNProjector` projects all n-grams of a text together
    instead, which preserves the angle between texts.

    Parameters
    ----------
    featurizer : CharNgramFeaturizer
        Converts words to rows; its ``split`` and ``lowercase`` define the words.
    projector : SGNNProjector
        Projects the rows. Its ``output`` may be 'binary', 'sign' or 'float'.

    See Also
    --------
    project_words : The projections of the words themselves, in their order, for sequence models.

    References
    ----------
    .. [1] Ravi & Kozareva (2018). Self-governing neural networks for on-device short text
           classification. EMNLP.

    Examples
    --------
    >>> from sklearn_hashnlp.text import (
    ...     CharNgramFeaturizer,
    ...     SGNNProjector,
    ...     SGNNWordProjector,
    ... )
    >>> words = SGNNWordProjector(
    ...     CharNgramFeaturizer(), SGNNProjector(n_projections=2, n_bits=4)
    ... )
    >>> words.transform(["cat", "dog", "cat dog cat cat", ""])[:, :4].tolist()
    [[1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 1.0, 0.0],
     [0.75, 0.25, 0.25, 0.75], [0.0, 0.0, 0.0, 0.0]]
    """

    _requires_fit: ClassVar[bool] = False
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "featurizer": [CharNgramFeaturizer],
        "projector": [SGNNProjector],
    }

    def __init__(self, featurizer: CharNgramFeaturizer, projector: SGNNProjector) -> None:
        self.featurizer = featurizer
        self.projector = projector

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Check the parameters; the transformer is stateless."""
        if X is not None:
            check_column(X, caller=type(self).__name__)
        self._check()
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        """Compute the mean word projection of texts, float32 (n_texts, n_projections * n_bits)."""
        self._validate_params()
        self._check()
        documents = list(as_documents(X, caller=type(self).__name__))
        means = np.zeros((len(documents), self._n_features_out), dtype=np.float32)
        for first, chunk in in_chunks(documents, n_characters=_CHARACTERS):
            words, rows = encode_words(
                chunk, first=first, featurizer=self.featurizer, caller=type(self).__name__
            )
            if words:
                table = with_array_output(self.projector).transform(
                    self.featurizer.transform(words)
                )
                means[first : first + len(chunk)] = mean_rows(table, rows)
        return means

    @property
    def _n_features_out(self) -> int:
        return int(self.projector.n_projections) * int(self.projector.n_bits)

    def _check(self) -> None:
        if self.projector.output == "packed":
            raise ValueError(
                f"{type(self).__name__}: packed bits have no mean. Got a projector with "
                "output='packed'; set projector__output to 'binary', 'sign' or 'float'."
            )
