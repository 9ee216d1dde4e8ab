"""The examples for clusters: their functions as they are, and the scripts where the engines are installed."""

import importlib.util
import os
import pickle
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
TEXTS = ["a fine, funny film", "dull and far too long", "funny and fine acting", "too dull to sit through"] * 8
LABELS = np.array(["good", "bad", "good", "bad"] * 8)
PRINTED = {
    "0010_dask": ("dask", ["rows with", "best: {", "merged from 4 parts", "one model of all texts"]),
    "0020_spark": ("pyspark", ["rows, of which", "merged from 2 parts", "test accuracy"]),
    "0030_ray": ("ray", ["texts with", "test accuracy"]),
    "0040_several_gpus": ("accelerate", ["2 processes have the same weights", "of one"]),
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
    models = [module.train((TEXTS[part], LABELS[part]), ["bad", "good"]) for part in (slice(16), slice(16, 32))]
    assert merge_classifiers(models).score(TEXTS, LABELS) == 1.0


def test_functions_for_spark(tmp_path):
    module = load("0020_spark")
    texts = pd.Series(TEXTS)
    frame, expected = module.vectorize(texts), HashingNgramVectorizer().transform(texts)
    np.testing.assert_array_equal(np.concatenate(frame["indices"]), expected.indices)
    np.testing.assert_array_equal(np.concatenate(frame["values"]), expected.data)
    np.testing.assert_array_equal(frame["indices"].map(len), np.diff(expected.indptr))
    assert len(module.vectorize(texts[:1])) == 1
    rows = pd.DataFrame({"text": TEXTS, "label": LABELS})
    parts = [module.train(part, ["bad", "good"]) for part in (rows[:16], rows[16:])]
    merged = merge_classifiers([pickle.loads(part["model"][0]) for part in parts])
    save_model(merged, tmp_path / "model")
    (predicted,) = module.predict(iter([texts[3:]]), str(tmp_path / "model"))
    assert predicted.index.tolist() == list(range(3, 32))
    assert (predicted == LABELS[3:]).all()


def test_functions_for_ray(tmp_path):
    module = load("0030_ray")
    save_model(TextClassifier(random_state=0).fit(TEXTS, LABELS), tmp_path / "model")
    batch = module.count_ngrams(pd.DataFrame({"text": TEXTS}))
    assert (batch["n_ngrams"] == np.diff(HashingNgramVectorizer(ngram_range=(1, 2)).transform(TEXTS).indptr)).all()
    assert (module.Predict(str(tmp_path / "model"))(batch)["predicted"] == LABELS).all()
