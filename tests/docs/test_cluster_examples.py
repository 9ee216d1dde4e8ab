"""The examples for clusters: their functions as they are, and the scripts where the engines are
installed.
"""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import HashingVectorizer

from sklearn_hashnlp import save_model
from sklearn_hashnlp.classifiers import TextClassifier, merge_classifiers
from sklearn_hashnlp.text import HashingNgramVectorizer

FOLDER = Path(__file__).parents[2] / "examples" / "07_larger_than_one_machine"
TEXTS = [
    "a fine, funny film",
    "dull and far too long",
    "funny and fine acting",
    "too dull to sit through",
] * 8
LABELS = np.array(["good", "bad", "good", "bad"] * 8)
PRINTED = {
    "0010_dask": ("dask", ["rows with", "merged from 4 parts", "one model of all texts"]),
    "0020_ray": ("ray", ["texts with", "test accuracy"]),
}


def load(name):
    spec = importlib.util.spec_from_file_location(f"example_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_each_example_is_tested():
    assert sorted(PRINTED) == sorted(path.stem for path in FOLDER.glob("*.py"))


@pytest.mark.slow
@pytest.mark.parametrize("name", PRINTED)
def test_an_example_runs_on_its_engine(name, tmp_path):
    engine, lines = PRINTED[name]
    pytest.importorskip(engine)
    done = subprocess.run(
        [sys.executable, str(FOLDER / f"{name}.py")],
        cwd=tmp_path,
        env=os.environ | {"HASHNLP_QUICK": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr
    assert all(line in done.stdout for line in lines), done.stdout


def test_functions_for_dask():
    module = load("0010_dask")
    (rows,) = module.vectorize(TEXTS)
    assert (rows != HashingVectorizer(ngram_range=(1, 2)).transform(TEXTS)).nnz == 0
    models = [
        module.train((TEXTS[part], LABELS[part]), ["bad", "good"])
        for part in (slice(16), slice(16, 32))
    ]
    assert merge_classifiers(models).score(TEXTS, LABELS) == 1.0


def test_functions_for_ray(tmp_path):
    module = load("0020_ray")
    save_model(TextClassifier(random_state=0).fit(TEXTS, LABELS), tmp_path / "model")
    batch = module.count_ngrams(pd.DataFrame({"text": TEXTS}))
    assert (
        batch["n_ngrams"]
        == np.diff(HashingNgramVectorizer(ngram_range=(1, 2)).transform(TEXTS).indptr)
    ).all()
    assert (module.Predict(str(tmp_path / "model"))(batch)["predicted"] == LABELS).all()
