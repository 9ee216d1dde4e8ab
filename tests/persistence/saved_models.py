"""Models that were saved under the lowest and the newest versions;
``python -m tests.persistence.saved_models NAME``.

NAME is the folder below ``data/models`` to write: ``lowest`` in the environment of
``make test-lowest``, ``newest`` in that of ``make test``. The models ``linear`` have steps of
scikit-learn, which earlier versions saved.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sklearn.pipeline import make_pipeline

from sklearn_hashnlp import (
    HashEmbeddingClassifier,
    HashingNgramVectorizer,
    KneserNeyLanguageModel,
    save_model,
)

FOLDER = Path(__file__).parent / "data" / "models"
PACKAGES = ("numpy", "safetensors", "scikit-learn", "scipy", "skorch", "torch")
TEXTS = [
    "what a fine film",
    "I was bored to tears",
    "funny, warm and wise",
    "dull from start to end",
] * 4
LABELS = ["good", "bad", "good", "bad"] * 4


def hash_embeddings() -> Any:
    classifier = HashEmbeddingClassifier(
        n_buckets=16, n_embeddings=64, embedding_dim=3, max_epochs=2, random_state=0
    )
    return make_pipeline(HashingNgramVectorizer(n_features=256), classifier).fit(TEXTS, LABELS)


def kneser_ney() -> Any:
    return KneserNeyLanguageModel(order=2).fit(TEXTS)


MODELS: dict[str, Callable[[], Any]] = {
    "hash_embeddings": hash_embeddings,
    "kneser_ney": kneser_ney,
}


def output(model: Any) -> list[Any]:
    """Return what a model computes for the texts."""
    result = (
        model.score_samples(TEXTS)
        if isinstance(model, KneserNeyLanguageModel)
        else model.predict_proba(TEXTS)
    )
    return [float(value) for value in result.ravel()]


def main(name: str) -> None:
    for model_name, make in MODELS.items():
        model = make()
        folder = FOLDER / name / model_name
        save_model(model, folder)
        versions = {package: version(package) for package in PACKAGES}
        document = {"versions": versions, "output": output(model)}
        (FOLDER / name / f"{model_name}.json").write_text(
            json.dumps(document) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main(sys.argv[1])
