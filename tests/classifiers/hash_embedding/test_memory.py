"""The memory that HashEmbeddingClassifier needs for very wide rows."""

from __future__ import annotations

import subprocess
import sys

import pytest

MEMORY = """
import resource
import numpy as np
from scipy.sparse import csr_array
from sklearn_hashnlp.classifiers import HashEmbeddingClassifier

rng = np.random.default_rng(0)
y = rng.integers(0, 2, 2000)
indices = rng.integers(0, 2**31 - 1, (2000, 50))
indices[:, 0] = 2**31 - 2 - y
X = csr_array((np.ones(100_000), indices.ravel(), np.arange(0, 100_001, 50)), shape=(2000, 2**31 - 1))
with open("/proc/self/statm") as statm:
    now = int(statm.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (now + 2_000_000_000,) * 2)
model = HashEmbeddingClassifier(random_state=0).fit(X, y)
print(model.score(X, y))
"""


@pytest.mark.xdist_group("measured")
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc/self/statm")
@pytest.mark.slow
def test_two_thousand_million_columns_fit_in_two_gigabytes():
    done = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) == 1.0
