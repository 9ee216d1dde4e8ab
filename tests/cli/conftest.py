"""Small models, trained once, and a runner of commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.pipeline import Pipeline
from typer.testing import CliRunner

from sklearn_hashnlp import HsigmoidLanguageModel
from sklearn_hashnlp.classifiers import HashEmbeddingClassifier, TextClassifier
from sklearn_hashnlp.cli import _pipelines, app
from sklearn_hashnlp.persistence import save_model

GOOD = ["a fine film", "a fine, funny story", "funny and warm", "so warm and fine"]
BAD = ["a dull film", "dull and long", "far too long", "long, dull, cold"]
ROWS = [*(("good", text) for text in GOOD), *(("bad", text) for text in BAD)] * 3


def small_pipeline(**parameters: Any) -> Pipeline:
    """Return a pipeline as that of ``hashnlp train``, but small enough for a test."""
    classifier = HashEmbeddingClassifier(
        n_buckets=100, n_embeddings=1000, embedding_dim=4, random_state=0
    )
    vectorizer = HashingVectorizer(n_features=2**20, alternate_sign=False, norm=None)
    return Pipeline([("vectorizer", vectorizer), ("classifier", classifier)]).set_params(
        **parameters
    )


def small_model(**parameters: Any) -> TextClassifier:
    """Return a model as that of ``hashnlp train``, but small enough for a test."""
    return TextClassifier(
        n_buckets=100, n_embeddings=1000, embedding_dim=4, random_state=0
    ).set_params(**parameters)


def hidden_layers(**parameters: Any) -> TextClassifier:
    """Return a small model with a hidden layer."""
    sizes = {"n_buckets": 100, "n_embeddings": 1000, "embedding_dim": 4}
    classifier = HashEmbeddingClassifier(**sizes, hidden_layer_sizes=(4,), **parameters)
    return TextClassifier(classifier=classifier, random_state=0)


@pytest.fixture
def rows() -> list[tuple[str, str]]:
    """Pairs of label and text of the file ``data``."""
    return ROWS


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Make ``hashnlp train`` train a small model; return the function that makes one."""

    def make_model(**options: Any) -> Any:
        sizes = {"n_buckets": 100, "embedding_dim": 4, "n_embeddings": 1000, "max_epochs": 3}
        return make_default(**options if options.get("sgnn") else sizes | options)

    make_default = _pipelines.make_model
    monkeypatch.setattr(_pipelines, "make_model", make_model)
    return small_model


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "films.csv"
    path.write_text(
        "label,text\n" + "".join(f'{label},"{text}"\n' for label, text in ROWS), encoding="utf-8"
    )
    return path


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a small model trained on ``ROWS``. Read only."""
    folder = tmp_path_factory.mktemp("cli") / "model"
    pipeline = small_pipeline().fit([text for _, text in ROWS], [label for label, _ in ROWS])
    save_model(pipeline, folder)
    return folder


TAGS = [
    ("sauce,cheese", "a cheese sauce"),
    ("cheese", "old cheese"),
    ("bread", "fresh bread"),
    ("sauce", "red sauce"),
]


@pytest.fixture(scope="session")
def tags(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table with the texts of ``TAGS``, whose labels are joined by commas."""
    path = tmp_path_factory.mktemp("cli") / "tags.csv"
    path.write_text(
        "label,text\n" + "".join(f'"{labels}",{text}\n' for labels, text in TAGS * 3),
        encoding="utf-8",
    )
    return path


@pytest.fixture(scope="session")
def tagger(hashnlp: Any, tags: Path) -> Path:
    """Folder of a model of several labels per text. Read only."""
    folder = tags.parent / "tagger"
    small = ["--buckets", 500, "--set", "embedding_dim=4", "--epochs", 20]
    result = hashnlp("train", tags, "-m", folder, "--label-separator", ",", *small)
    assert result.code == 0, result.err
    assert "3 labels, 1 to 2 each" in result.err
    return folder


SENTENCES = [
    "the cat sat on the mat",
    "the dog sat on the rug",
    "a cat saw the dog",
    "a dog saw the cat",
] * 5


@pytest.fixture
def corpus() -> list[str]:
    """The sentences of the file ``sentences``."""
    return SENTENCES


@pytest.fixture
def sentences(tmp_path: Path) -> Path:
    """A text file with ``SENTENCES``, and a blank line."""
    path = tmp_path / "sentences.txt"
    path.write_text("\n".join([SENTENCES[0], "", *SENTENCES[1:]]) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def lm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a small language model trained on ``SENTENCES``. Read only."""
    folder = tmp_path_factory.mktemp("cli") / "lm"
    model = HsigmoidLanguageModel(
        order=3, embedding_dim=8, hidden_size=16, batch_size=32, max_epochs=40, random_state=0
    )
    save_model(model.fit(SENTENCES), folder)
    return folder


class Result:
    """Exit code and output of a command."""

    def __init__(self, result: Any) -> None:
        self.code: int = result.exit_code
        self.out: str = result.stdout
        self.err: str = result.stderr

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture(scope="session")
def hashnlp() -> Any:
    """Run a command in this process: ``hashnlp("predict", "--model", folder, stdin="text")``."""

    def run(*arguments: Any, stdin: str | bytes | None = None) -> Result:
        return Result(
            CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)
        )

    return run
