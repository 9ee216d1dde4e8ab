"""A vector for each word, by what a trained network makes of the contexts that it follows."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sklearn_hashnlp.estimators._language_net import LanguageNet
from sklearn_hashnlp.estimators._word_windows import WindowBatches, WordWindows

_ROWS = 4096


def context_means(net: LanguageNet, windows: WordWindows, n_classes: int) -> NDArray[np.float32]:
    """Return words that the network predicts in like contexts like vectors."""
    module = net.module_.eval()
    counts = np.bincount(windows.y, minlength=n_classes)[:, np.newaxis]
    sums = 0.0
    with torch.inference_mode():
        for context, target in WindowBatches(windows, _ROWS, device=net.device):
            hidden = module.hidden(context).cpu().numpy().astype(np.float64)
            entries = np.ones(len(hidden)), (target.cpu().numpy(), np.arange(len(hidden)))
            sums = sums + csr_array(entries, shape=(n_classes, len(hidden))) @ hidden
    total = np.sum(sums, axis=0) / counts.sum()
    means: NDArray[np.float32] = np.where(counts > 0, sums / np.maximum(counts, 1) - total, 0.0).astype(np.float32)
    return means
