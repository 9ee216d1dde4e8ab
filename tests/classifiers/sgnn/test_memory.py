"""The memory that SGNNClassifier needs for packed rows."""

from __future__ import annotations

import subprocess
import sys

import pytest

MEMORY = """
import resource
import numpy as np
from sklearn_hashnlp import SGNNClassifier

rng = np.random.default_rng(0)
model = SGNNClassifier(packed=True, hidden_layer_sizes=(8,), max_epochs=1, batch_size=1024, random_state=0)
model.fit(rng.integers(0, 256, (2000, 140), dtype=np.uint8), np.arange(2000) % 2)
X = rng.integers(0, 256, (100_000, 140), dtype=np.uint8)  # 14 MB; as float32 they would be 448 MB
y = np.arange(100_000) % 2
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
model.fit(X, y).predict(X)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts in kilobytes")
def test_rows_are_never_wide_all_at_once():
    done = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 150
