"""Types and choices that editors and type checkers know."""

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

import sklearn_hashnlp

PUBLIC_FOLDERS = [
    *("classifiers", "datasets", "inspection", "language", "nn", "optim", "persistence", "plotting"),
    *("sentences", "text", "trees"),
]


@pytest.mark.parametrize("name", PUBLIC_FOLDERS)
def test_a_folder_is_an_attribute_of_the_package(name, monkeypatch):
    monkeypatch.delattr(sklearn_hashnlp, name, raising=False)  # a test before this one may have imported it
    assert getattr(sklearn_hashnlp, name) is importlib.import_module(f"sklearn_hashnlp.{name}")
    assert name in dir(sklearn_hashnlp)


# A line that ends with a comment must give exactly what the comment says: a revealed type or an error.
USER_FILE = """\
import sklearn_hashnlp as h
from sklearn_hashnlp import HashEmbeddingClassifier, TextClassifier, make_text_classifier

texts, labels = ["good", "bad"], [1, 0]
model = TextClassifier(loss="ova")
reveal_type(model.fit(texts, labels))  # sklearn_hashnlp.classifiers._text_classifier.TextClassifier
reveal_type(model.partial_fit(texts, labels))  # sklearn_hashnlp.classifiers._text_classifier.TextClassifier
reveal_type(model.set_params(loss=None))  # sklearn_hashnlp.classifiers._text_classifier.TextClassifier
reveal_type(model.predict(texts))  # numpy.ndarray[tuple[Any, ...], numpy.dtype[Any]]
reveal_type(model.predict_proba(texts))  # numpy.ndarray[tuple[Any, ...], numpy.dtype[numpy.float64]]
reveal_type(model.predict_topk(texts, k=1))  # list[list[tuple[Any, float]]]
pipeline = make_text_classifier()
reveal_type(pipeline.fit(texts, labels))  # sklearn_hashnlp._sklearn.Pipeline
reveal_type(pipeline.predict(texts))  # numpy.ndarray[tuple[Any, ...], numpy.dtype[Any]]
reveal_type(h.SGNNProjector().fit_transform([[1.0]]))  # numpy.ndarray[tuple[Any, ...], numpy.dtype[Any]]
reveal_type(h.nn.HashEmbedding(8, 2, num_buckets=8))  # sklearn_hashnlp.nn._hash_embedding.HashEmbedding
HashEmbeddingClassifier(embeding_dim=3)  # Unexpected keyword argument "embeding_dim"
HashEmbeddingClassifier(loss="sofmax")  # incompatible type "Literal['sofmax']"
TextClassifier(feature="words")  # Unexpected keyword argument "feature"
make_text_classifier(device="gpu")  # incompatible type "Literal['gpu']"
h.nn.HashEmbedding(8, 2, num_buckets=8, variant="best")  # incompatible type "Literal['best']"
h.HashEmbedingClassifier()  # Module has no attribute "HashEmbedingClassifier"
"""
# These would take mypy several seconds, and nothing here depends on their types.
SKIPPED = ["PIL", "joblib", "matplotlib", "mwparserfromhell", "pandas", "polars", "pyarrow"]
SKIPPED += ["scipy", "sklearn", "skorch", "threadpoolctl", "torch"]
SKIPPED += [f"sklearn_hashnlp.{folder}" for folder in ("datasets", "language", "plotting", "sentences")]
SKIP = "follow_imports = skip\nfollow_imports_for_stubs = true\n"
CONFIGURATION = "[mypy]\nstrict = true\n" + "".join(f"[mypy-{name}.*]\n{SKIP}" for name in SKIPPED)
CONFIGURATION += "[mypy-sklearn_hashnlp.*]\nignore_errors = true\n"  # as of an installed package


def test_mypy_knows_parameters_and_results_in_a_file_of_a_user(tmp_path):
    pytest.importorskip("mypy")
    assert (Path(sklearn_hashnlp.__file__).parent / "py.typed").exists()
    (tmp_path / "user.py").write_text(USER_FILE)
    (tmp_path / "mypy.ini").write_text(CONFIGURATION)
    environment = os.environ | {"PYTHONPATH": str(Path(sklearn_hashnlp.__file__).parents[1])}
    cache = Path(__file__).parents[1] / ".mypy_cache" / "user"  # kept: it saves most of the time
    command = [sys.executable, "-m", "mypy", "--cache-dir", str(cache), "user.py"]
    answer = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True).stdout.splitlines()
    expected = {n: line.split("  # ")[1] for n, line in enumerate(USER_FILE.splitlines(), 1) if "  # " in line}
    messages = {}
    for line in answer[:-1]:  # the last counts them
        _, number, message = line.split(":", 2)
        messages.setdefault(int(number), message)
    assert messages.keys() == expected.keys(), answer
    for number, part in expected.items():
        assert part in messages[number]
