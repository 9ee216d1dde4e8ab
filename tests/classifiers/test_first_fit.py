"""*slow*: What the first fit of a process compiles, and that a model does not depend on what is compiled already."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

MOST = 70  # functions, with numba's own
FIRST_FIT = """
import hashlib, json, pickle
from numba.core import event

class Compiled(event.Listener):
    names = []

    def on_start(self, event):
        pass

    def on_end(self, event):
        function = event.data["dispatcher"].py_func
        self.names.append(f"{function.__module__}.{function.__qualname__}")

event.register("numba:compile", Compiled())
from sklearn_hashnlp import TextClassifier
texts = ["what a fine film", "I was bored to tears", "funny, warm and wise", "dull from start to end"]
labels = ["good", "bad", "good", "bad"]
model = TextClassifier(random_state=0).fit(texts, labels)
found = model.predict(["warm and funny"]).tolist()
first = list(Compiled.names)
models = [model, TextClassifier(random_state=0).fit(texts * 20, labels * 20)]  # with cross-validation
scores = [one.decision_function([*texts, "funny tears", ""]).tobytes() for one in models]
fits = [one.pipeline_[-1]._model for one in models]
states = [(fit.to_state(), fit.to_training_state()) for fit in fits]  # the history has seconds
digest = hashlib.sha256(pickle.dumps(states) + b"".join(scores)).hexdigest()
print(json.dumps({"compiled": first, "digest": digest, "found": found}))
"""


def run(cache: Path) -> dict[str, Any]:
    """Return what a new process prints that has this folder for machine code."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
    done = subprocess.run([sys.executable, "-c", FIRST_FIT], env=environment, check=True, stdout=-1, text=True)
    printed: dict[str, Any] = json.loads(done.stdout)
    return printed


@pytest.mark.slow  # compiles three times
def test_a_first_fit_compiles_few_functions_once_and_gives_the_bytes_of_later_ones(tmp_path: Path) -> None:
    cold, warm, unwritable = run(tmp_path), run(tmp_path), run(Path(os.devnull))
    compiled = Counter(cold["compiled"])
    assert {name for name, n in compiled.items() if n > 1 and name.startswith("sklearn_hashnlp.")} == set()
    assert not [name for name in compiled if "raise_with_shape_context" in name]  # of expressions of arrays
    assert compiled.total() <= MOST
    assert warm["compiled"] == []
    assert Counter(unwritable["compiled"]) == compiled
    assert cold["found"] == ["good"]
    assert cold["digest"] == warm["digest"] == unwritable["digest"]
