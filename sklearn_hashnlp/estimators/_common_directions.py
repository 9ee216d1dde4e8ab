"""What all sentences have in common, whatever they say."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from sklearn_hashnlp.estimators._cached_projections import CachedProjections
from sklearn_hashnlp.estimators._make_word_batch import make_word_batch
from sklearn_hashnlp.estimators._paragraph_batches import take_rows
from sklearn_hashnlp.kernels import Ragged
from sklearn_hashnlp.nn import SentenceNetwork

_SENTENCES = 20_000
_AT_ONCE = 512


def common_directions(
    network: SentenceNetwork,
    sentences: Ragged,
    weights: NDArray[np.float32],
    projections: CachedProjections,
    n_common: int,
) -> torch.Tensor:
    """Find the principal directions of the spelled sentences but for the first."""
    device = network.common.device
    n_sentences = len(sentences.offsets) - 1
    chosen = np.unique(np.linspace(0, n_sentences - 1, min(n_sentences, _SENTENCES)).astype(np.int64))
    moment = np.zeros((network.common.shape[1],) * 2)
    # More threads of BLAS would add up in another order.
    with torch.inference_mode(), threadpool_limits(1, user_api="blas"):
        for rows in np.array_split(chosen, -(-len(chosen) // _AT_ONCE)):
            batch = make_word_batch(take_rows(sentences, rows), weights, projections).to(device)
            spelled = network.spell(batch).cpu().numpy().astype(np.float64)
            moment += spelled.T @ spelled
        sizes, directions = np.linalg.eigh(moment)
    # Ascending; those that no sentence has are none.
    n_found = int((sizes > 1e-9 * sizes[-1]).sum())
    found = directions[:, ::-1].T[1 : min(1 + n_common, n_found)]
    return torch.from_numpy(np.ascontiguousarray(found, dtype=np.float32)).to(device)
