"""EmbeddingTables: initial values of HashEmbeddingClassifier's tables, and which are trained."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, TypeAlias

from sklearn_hashnlp._sklearn import literal_options
from sklearn_hashnlp.training._settings import Bundle

ImportanceInit: TypeAlias = Literal["idf", "ones", "zeros"]


class EmbeddingTables(Bundle):
    """The initialization of the tables of hash embeddings, and whether they are trained.

    The value of the parameter ``embedding`` of :class:`HashEmbeddingClassifier`.

    Parameters
    ----------
    append_weight : bool, default=False
        Whether to append the sums of the columns' importance weights to document vectors, as the
        reference implementation. They are large beside the embeddings, and steps on them disturb
        training on few rows. Ignored by ``variant="standard"``.
    hash_rows : bool, default=True
        Whether a column is hashed to its row of the importance table, or of the table of
        ``variant="standard"``. False uses the column index itself, so that no two columns share a
        row: for columns of a vocabulary. The table then has a row for each column of ``X``,
        whatever ``n_embeddings`` is.
    importance_init : {"idf", "ones", "zeros"}, default="idf"
        Initial importance weights. ``"idf"``: the inverse document frequency in the training rows,
        divided by its mean; zero for columns that occur in no training row, which then have no
        influence. ``"ones"``: one. In both cases the pool is initialized with zeros. ``"zeros"``:
        zero, and the pool is drawn from a normal distribution with a standard deviation of 0.1, as
        in the reference implementation [1]_ (which also draws the importance weights, with 0.0005).
        Ignored by ``variant="standard"``, whose table is initialized with zeros.
    train_pool : bool, default=True
        Whether the pool (the table, for ``variant="standard"``) is trained. False freezes it: at
        its initial values or, with ``warm_start``, the values of the previous fit.
    train_importance : bool, default=True
        Whether the importance weights are trained. False freezes them at their initial values.

    References
    ----------
    .. [1] Dubois (2017). Hash-Embeddings, https://github.com/YannDubs/Hash-Embeddings.

    Examples
    --------
    >>> from sklearn_hashnlp.classifiers import (
    ...     EmbeddingTables,
    ...     HashEmbeddingClassifier,
    ... )
    >>> model = HashEmbeddingClassifier(
    ...     embedding=EmbeddingTables(importance_init="ones")
    ... )
    >>> model.set_params(embedding__train_importance=False).embedding
    EmbeddingTables(importance_init='ones', train_importance=False)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "append_weight": ["boolean"],
        "hash_rows": ["boolean"],
        "importance_init": [literal_options(ImportanceInit)],
        "train_pool": ["boolean"],
        "train_importance": ["boolean"],
    }

    def __init__(
        self,
        *,
        append_weight: bool = False,
        hash_rows: bool = True,
        importance_init: ImportanceInit = "idf",
        train_pool: bool = True,
        train_importance: bool = True,
    ) -> None:
        self.append_weight = append_weight
        self.hash_rows = hash_rows
        self.importance_init = importance_init
        self.train_pool = train_pool
        self.train_importance = train_importance
