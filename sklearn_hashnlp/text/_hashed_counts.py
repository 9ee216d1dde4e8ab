"""Documents to a sparse matrix of hashed n-gram counts: what all transformers of this folder do at heart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from sklearn_hashnlp.kernels import L1, L2, NO_NORM, Ragged, Room, Texts, count_hashes
from sklearn_hashnlp.text._documents import in_chunks, pack
from sklearn_hashnlp.text._sparse_rows import Rows, sparse_matrix

NORMS = {None: NO_NORM, "l1": L1, "l2": L2}


def hashed_counts(
    documents: Iterable[Any],
    *,
    read: Callable[[list[Any], int], list[str]],
    preprocess: Callable[[str], str] | None,
    check_surrogates: Callable[[str, int], None],
    hash_texts: Callable[[Texts], Ragged],
    n_characters: int,
    lowercase: bool,
    n_features: int,
    alternate_sign: bool,
    binary: bool,
    norm: str | None,
    dtype: Any,
    n_jobs: int | None,
) -> Any:
    """Read, pack, hash and count documents, chunk by chunk, on one or more threads."""
    number = np.dtype(dtype).type

    def make_rows(first: int, chunk: list[Any], room: Room | None) -> Iterator[Rows]:
        for texts in pack(
            read(chunk, first),
            lowercase=bool(lowercase),
            preprocess=preprocess,
            check_surrogates=lambda index, text: check_surrogates(text, first + index),
            max_characters=2 * n_characters,
        ):
            yield Rows(
                *count_hashes(
                    hash_texts(texts),
                    n_features=int(n_features),
                    alternate_sign=bool(alternate_sign),
                    binary=bool(binary),
                    norm=NORMS[norm],
                    dtype=number,
                    room=room,
                )
            )

    return sparse_matrix(
        in_chunks(documents, n_characters=n_characters),
        make_rows,
        n_documents=len(documents) if isinstance(documents, Sequence) else None,
        n_features=int(n_features),
        dtype=number,
        n_jobs=n_jobs,
    )
