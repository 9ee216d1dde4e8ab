"""docs/exported_format.md is enough to read exported folders: a reader that follows it predicts as
the models do.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline

from sklearn_hashnlp import HashEmbeddingClassifier, HashingNgramVectorizer, TextClassifier
from sklearn_hashnlp.classifiers import EmbeddingTables, export_predictor
from sklearn_hashnlp.classifiers.export._standalone_linear import _read_predictor
from tests.classifiers.export.test_linear_predictor import LABELS, PAIRS, SMALL, TEXTS
from tests.oracles.exported_folder import ExportedFolder

PAGE = (Path(__file__).parents[3] / "docs" / "exported_format.md").read_text(encoding="utf-8")
TOPICS = [["place"], ["person", "place"], [], ["place"], ["person"], ["number"]]
UNSEEN = [
    *(
        "",
        " \t\u00a0\x1c",
        "xyzzy plugh",
        "the",
        "the the the is",
        "WHERE was it, and who?",
        "a\0b \0",
    ),
    *(
        "मी हिन्दी 中文字 кот",
        "naïve ﬁancé e\u0301",
        "İstanbul ΑΣ ẞ",
        "🙂 x",
        "don't -- stop... a_b",
    ),
]


def check(
    model: Any, folder: Path, precision: Any = "float32", tolerance: float = 1e-5
) -> ExportedFolder:
    """Compare the labels and probabilities of the reader with those of the model, and its names
    with the page.
    """
    export_predictor(model, folder, precision=precision)
    reader = ExportedFolder(folder)
    probabilities = model.predict_proba(TEXTS + UNSEEN)
    for text, label, expected in zip(
        TEXTS + UNSEEN, model.predict(TEXTS + UNSEEN), probabilities, strict=True
    ):
        answer, answered = reader.predict(text)
        assert answered == pytest.approx(expected.tolist(), abs=tolerance), text
        assert answer == label
    header = reader.header
    names = [*header, *header["bag"], *header["labels"], *reader.stored]
    for name in {*names, *(key for options in header["vectorizers"] for key in options)}:
        assert re.search(rf"`{re.escape(name)}`", PAGE), (
            f"docs/exported_format.md does not name {name}"
        )
    return reader


@pytest.mark.parametrize(
    ("features", "labels"),
    [
        ("words", LABELS),
        ("characters", ["yes", "no"] * 3),
        ("words+characters", [1, 2, 3] * 2),
        ("auto", TOPICS),
    ],
    ids=["3 labels", "2 labels", "numbers", "lists"],
)
def test_text_classifiers(features: Any, labels: Any, tmp_path: Path) -> None:
    check(TextClassifier(features=features, random_state=0).fit(TEXTS, labels), tmp_path / "m")


@pytest.mark.parametrize("calibrate", ["auto", "temperature", False])
def test_short_texts_move_towards_the_label_shares(calibrate: Any, tmp_path: Path) -> None:
    texts = [
        f"begin {text} {word}" for text in TEXTS * 4 for word in ("one", "two", "two", "some other")
    ]
    classifier = HashEmbeddingClassifier(random_state=0, calibrate=calibrate)
    model = make_pipeline(HashingNgramVectorizer(norm=None), classifier)
    reader = check(model.fit(texts, [text.split()[-1] for text in texts]), tmp_path / "m")
    unseen = [*UNSEEN, "begin", "one", "begin one"]
    found = [[(x, *reader.lookup(c)) for c, x in reader.columns(text).items()] for text in unseen]
    shares = dict(zip(unseen, map(reader.share_of_scores, found), strict=True))
    assert shares[""] == shares["xyzzy plugh"] == 0
    assert shares["begin one"] > 0.1
    assert (shares["begin"] == 0) == (calibrate != "temperature")  # all texts have it
    assert any(0 < share < 1 for share in shares.values()) == (calibrate == "auto")
    scores = _read_predictor(tmp_path / "m" / "weights.bin").scores(unseen)
    assert scores == pytest.approx(model[-1]._scores(model[:-1].transform(unseen)), abs=1e-12)
    for text, share in shares.items():
        assert reader.predict(text)[1] == pytest.approx(
            model.predict_proba([text])[0].tolist(), abs=1e-5
        ), text
        if not share:
            assert reader.scores(text) == pytest.approx(reader.stored["prior"], rel=1e-6)


@pytest.mark.parametrize("precision", ["float16", "int8"])
def test_tables_of_lower_precision(precision: Any, tmp_path: Path) -> None:
    reader = check(
        TextClassifier(random_state=0).fit(TEXTS, LABELS), tmp_path / "m", precision, tolerance=0.02
    )
    assert {dtype for name, dtype, _, _ in reader.header["arrays"] if name == "pool"} <= {
        "<f2",
        "|i1",
    }


@pytest.mark.parametrize(("variant", "aggregation", "normalize"), PAIRS)
def test_hash_embeddings(variant: Any, aggregation: Any, normalize: Any, tmp_path: Path) -> None:
    options = SMALL | {"variant": variant, "aggregation": aggregation, "normalize": normalize}
    options |= {
        "n_hashes": 2,
        "embedding": EmbeddingTables(append_weight=normalize != "l1"),
        "loss": "ova" if normalize else "hinge",
    }
    model = make_pipeline(HashingNgramVectorizer(norm=None), HashEmbeddingClassifier(**options))
    check(model.fit(TEXTS, LABELS), tmp_path / "m")


@pytest.mark.parametrize(
    "options",
    [
        {"embedding": EmbeddingTables(hash_rows=False)},
        {"embedding": EmbeddingTables(importance_init="ones")},
        {"embedding": EmbeddingTables(importance_init="zeros")},
    ],
    ids=str,
)
def test_importance_weights(options: Any, tmp_path: Path) -> None:
    classifier = HashEmbeddingClassifier(**SMALL | options)
    check(
        make_pipeline(HashingNgramVectorizer(n_features=300), classifier).fit(TEXTS, LABELS),
        tmp_path / "m",
    )


VECTORIZERS: list[Any] = [
    HashingVectorizer(ngram_range=(2, 3), lowercase=False, n_features=1000),
    HashingVectorizer(token_pattern=r"(\w)\w*", stop_words=["w"], norm="l1"),
    HashingNgramVectorizer(analyzer="char", ngram_range=(1, 4), binary=True),
    HashingNgramVectorizer(
        analyzer="char_wb", ngram_range=(2, 5), alternate_sign=False, strip_accents="unicode"
    ),
    HashingNgramVectorizer(analyzer="char_wb", ngram_range=(6, 9), strip_accents="ascii"),
]


@pytest.mark.parametrize("vectorizer", VECTORIZERS)
def test_vectorizers(vectorizer: Any, tmp_path: Path) -> None:
    union = FeatureUnion(
        [("a", vectorizer), ("b", HashingVectorizer(n_features=50))], transformer_weights={"b": 0.5}
    )
    model = Pipeline([("features", union), ("classifier", HashEmbeddingClassifier(**SMALL))])
    check(model.fit(TEXTS, LABELS), tmp_path / "m")
