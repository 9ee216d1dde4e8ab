"""Types and checks of parameters of classifiers."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from sklearn_hashnlp._sklearn import MAX_INTEGER
from sklearn_hashnlp.trees._arrays import is_integer

Calibrate: TypeAlias = Literal["auto", False]
ClassWeight: TypeAlias = dict[Any, float] | Literal["balanced"] | None
Monitor: TypeAlias = Literal["valid_acc", "valid_loss"]


def check_ngram_dropout(pair: Any, *, caller: str) -> None:
    """Check that the parameter is None or two integers in order."""
    if pair is not None and not (
        len(pair) == 2 and all(map(is_integer, pair)) and 1 <= pair[0] <= pair[1] <= MAX_INTEGER
    ):
        raise ValueError(
            f"The 'ngram_dropout' parameter of {caller} must be None or (fewest, most), two integers with "
            f"1 <= fewest <= most <= {MAX_INTEGER}. Got {pair!r} instead."
        )


def check_columns(estimator: Any) -> None:
    """Check that the importance table has a row for each column, which is not hashed."""
    if estimator.n_features_in_ > estimator.n_embeddings:
        raise ValueError(
            f"{type(estimator).__name__}(embedding=EmbeddingTables(hash_rows=False)) has a row for each of "
            f"n_embeddings={estimator.n_embeddings} "
            f"columns, but X has {estimator.n_features_in_}. Raise n_embeddings, keep fewer columns, or set "
            "hash_rows=True."
        )
