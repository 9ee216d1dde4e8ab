"""The memory that classifiers need for very wide rows and for packed ones."""

from __future__ import annotations

import subprocess
import sys

import pytest

WIDE = """
import resource
import numpy as np
from scipy.sparse import csr_array
from sklearn_hashnlp.classifiers import HashEmbeddingClassifier

rng = np.random.default_rng(0)
y = rng.integers(0, 2, 2000)
indices = rng.integers(0, 2**31 - 1, (2000, 50))
indices[:, 0] = 2**31 - 2 - y
parts = np.ones(100_000), indices.ravel(), np.arange(0, 100_001, 50)
X = csr_array(parts, shape=(2000, 2**31 - 1))
with open("/proc/self/statm") as statm:
    now = int(statm.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (now + 2_000_000_000,) * 2)
assert HashEmbeddingClassifier(random_state=0).fit(X, y).score(X, y) == 1
"""
PACKED = """
import resource
import numpy as np
from sklearn_hashnlp import SGNNClassifier

rng = np.random.default_rng(0)
model = SGNNClassifier(
    packed=True, hidden_layer_sizes=(8,), max_epochs=1, batch_size=1024, random_state=0
)
model.fit(rng.integers(0, 256, (2000, 140), dtype=np.uint8), np.arange(2000) % 2)
X = rng.integers(0, 256, (100_000, 140), dtype=np.uint8)  # 14 MB; as float32 they would be 448 MB
y = np.arange(100_000) % 2
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
model.fit(X, y).predict(X)
assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 150 * 1024
"""


@pytest.mark.slow
@pytest.mark.xdist_group("measured")
@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="reads /proc/self/statm and counts in kilobytes"
)
@pytest.mark.parametrize(
    "program", [WIDE, PACKED], ids=["two thousand million columns", "packed rows"]
)
def test_rows_are_never_wide_all_at_once(program: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
