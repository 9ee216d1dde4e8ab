"""Predictors of hash embeddings with numpy alone: labels and scores of the pipeline, from a file or
a model folder.
"""

from __future__ import annotations

import subprocess
import sys
from importlib import util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.decomposition import TruncatedSVD
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import Normalizer

from sklearn_hashnlp import (
    HashEmbeddingClassifier,
    HashingNgramVectorizer,
    TextClassifier,
    make_text_classifier,
)
from sklearn_hashnlp.classifiers import EmbeddingTables, export_predictor
from sklearn_hashnlp.classifiers.export._linear_predictor import (
    UnsupportedModelError,
    model_of_document,
)
from sklearn_hashnlp.classifiers.export._standalone_linear import LinearTextPredictor, _Vectorizer
from sklearn_hashnlp.persistence import load_model, save_model
from sklearn_hashnlp.persistence._folder_files import read_folder
from sklearn_hashnlp.text import AutoNgramVectorizer, CharNgramFeaturizer, FrequentNgramVectorizer
from sklearn_hashnlp.text._ngram_vector_union import NgramVectorUnion
from sklearn_hashnlp.text._specs_of import specs_of

TEXTS = [
    "where is the station",
    "Who wrote it ?",
    "how many are there",
    "where do I go",
    "who was there",
    "how much",
]
LABELS = ["place", "person", "number", "place", "person", "number"]
HARD = [
    "",
    " \t\r\n\x1c\x1f\x85\u00a0\u2003\u3000",
    "a\0b \0\0",
    "🙂 👩‍👩‍👧 🇫🇷x",
    "naïve ﬁancé ÅNGSTRÖM",
    "İstanbul ΑΣ ΌΣΟΣ ẞ ǅ",
    "मी हिन्दी 中文字 кот העברית",
    "e\u0301 \u0301 x\u200by z\ufeff",
    "don't -- stop... (<now>) </s> _x_ a_b a  b",
    "z" * 300,
    "the the the the cat the",
    "".join(map(chr, range(1, 400))),
    "one two three four five six seven " * 3,
]
ROUNDING = 1e-13  # of the move of the scores towards those of the class shares
SMALL: dict[str, Any] = {
    "n_buckets": 97,
    "n_embeddings": 301,
    "embedding_dim": 5,
    "random_state": 0,
}


def load(path: Path) -> Any:
    """Import a predictor as a module of its own."""
    file = path if path.suffix == ".py" else path / "__init__.py"
    where = None if path.suffix == ".py" else [str(path)]
    spec = util.spec_from_file_location("exported_linear", file, submodule_search_locations=where)
    assert spec is not None
    assert spec.loader is not None
    module = util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    for name in [name for name in sys.modules if name.partition(".")[0] == spec.name]:
        del sys.modules[name]
    return module


def assert_same_scores(
    predictor: LinearTextPredictor, model: Any, texts: list[Any], tolerance: float = ROUNDING
) -> None:
    scores = model[-1]._scores(model[:-1].transform(texts))
    np.testing.assert_allclose(predictor.scores(texts), scores, rtol=0, atol=tolerance)


def from_folder(model: Any, folder: Path, precision: str = "float32") -> LinearTextPredictor:
    """Save a model, and read the predictor of ``hashnlp predict`` from the folder."""
    save_model(model, folder, precision=precision)
    document, arrays = read_folder(folder)
    return LinearTextPredictor(*model_of_document(document["model"], arrays))


def check(
    model: Any, folder: Path, texts: list[Any] = HARD + TEXTS, *, tolerance: float = ROUNDING
) -> None:
    """Compare the scores of a folder's predictor, and the answers of a file, with those of the
    model.
    """
    predictor = from_folder(model, folder / "model")
    assert_same_scores(predictor, getattr(model, "pipeline_", model), texts, tolerance)
    export_predictor(model, folder / "exported.py")
    exported = load(folder / "exported.py")
    for answers in (predictor, exported):
        labels = answers.predict(texts)
        assert labels.tolist() == model.predict(texts).tolist()
        assert labels.dtype == model.predict(texts).dtype
        assert answers.predict_proba(texts) == pytest.approx(model.predict_proba(texts), abs=1e-7)
    assert exported.CLASSES.tolist() == model.classes_.tolist()


def pipeline(vectorizer: Any, **parameters: Any) -> Pipeline:
    return make_pipeline(vectorizer, HashEmbeddingClassifier(**SMALL | parameters)).fit(
        TEXTS, LABELS
    )


@pytest.mark.parametrize("features", ["auto", "words", "words+characters", "characters"])
def test_text_classifiers(features, tmp_path):
    check(TextClassifier(features=features, random_state=0).fit(TEXTS, LABELS), tmp_path)
    check(make_text_classifier(features=features, **SMALL).fit(TEXTS, LABELS), tmp_path)


PAIRS = [  # each pair of values of two of the three options
    *[("improved", "sum", None), ("improved", "concat", "l1"), ("improved", "median", "l2")],
    *[("paper", "sum", "l1"), ("paper", "concat", "l2"), ("paper", "median", None)],
    *[("standard", "sum", "l2"), ("standard", "concat", None), ("standard", "median", "l1")],
]


@pytest.mark.parametrize(("variant", "aggregation", "normalize"), PAIRS)
def test_variants(variant, aggregation, normalize, tmp_path):
    options = {
        "variant": variant,
        "aggregation": aggregation,
        "normalize": normalize,
        "n_hashes": 3,
    }
    vectorizer = HashingNgramVectorizer(n_features=2**31 - 1, norm=None)
    tolerance = 1e-5 if aggregation == "median" else ROUNDING
    check(
        pipeline(vectorizer, **options, embedding=EmbeddingTables(append_weight=normalize != "l1")),
        tmp_path,
        tolerance=tolerance,
    )


VECTORIZERS: list[dict[str, Any]] = [
    {},
    {"ngram_range": (2, 3), "lowercase": False},
    {"token_pattern": r"\w+|[^\w\s]", "ngram_range": (1, 2)},
    {"token_pattern": r"(\w)\w*"},
    {"analyzer": "char", "ngram_range": (1, 4)},
    {"analyzer": "char_wb", "ngram_range": (2, 5)},
    {"analyzer": "char_wb", "ngram_range": (6, 9)},
    {"strip_accents": "unicode"},
    {"strip_accents": "ascii", "analyzer": "char"},
    {"stop_words": "english"},
    {"stop_words": ["the", "is"], "ngram_range": (1, 2)},
    {"binary": True, "ngram_range": (1, 2)},
    {"norm": "l1"},
    {"norm": "l2", "dtype": np.float32},
    {"alternate_sign": False},
    {"n_features": 3, "norm": None},
    {"n_features": 3, "binary": True, "norm": None},
]


@pytest.mark.parametrize("options", VECTORIZERS, ids=str)
@pytest.mark.parametrize("cls", [HashingNgramVectorizer, HashingVectorizer])
def test_hashes_and_counts_equal_the_vectorizer(options, cls):
    vectorizer = cls(**options)
    own = _Vectorizer(specs_of(vectorizer)[0].to_dict())
    texts = HARD + TEXTS
    columns, signs, owners = own.hash_ngrams(0, texts)
    X = vectorizer.transform(texts)
    for row, indices in enumerate(owners):
        at, values = own.count(columns, signs, indices)
        assert np.array_equal(columns[at], X[row].indices)
        assert values == pytest.approx(X[row].data, rel=1e-6)


def test_unions_of_unions_with_empty_columns(tmp_path):
    parts = [
        ("a", AutoNgramVectorizer(n_features=1001)),
        ("b", HashingNgramVectorizer(stop_words="english")),
    ]
    inner = FeatureUnion(parts, transformer_weights={"a": 0.5})
    check(
        pipeline(FeatureUnion([("u", inner), ("c", AutoNgramVectorizer())])),
        tmp_path,
        tolerance=1e-6,
    )
    union = FeatureUnion(
        [("a", AutoNgramVectorizer(n_features=1001)), ("b", HashingNgramVectorizer(norm=None))]
    )
    model = make_pipeline(union, HashEmbeddingClassifier(**SMALL))
    model[-1].fit(union.transform(TEXTS), LABELS)
    (tmp_path / "words").mkdir()
    check(model, tmp_path / "words", tolerance=1e-6)


@given(texts=st.lists(st.text(max_size=60), min_size=1, max_size=4))
def test_any_texts(any_model, texts):
    model, predictor = any_model
    assert_same_scores(predictor, model, texts)


@pytest.fixture(name="any_model", scope="module")
def _any_model(tmp_path_factory):
    model = make_text_classifier(features="words+characters", **SMALL).fit(TEXTS, LABELS)
    return model, from_folder(model, tmp_path_factory.mktemp("any") / "model")


def test_long_texts_and_many_texts_have_the_same_scores(any_model):
    model, predictor = any_model
    texts = ["y" * 5000, "no " * 30_000, *HARD * 30]
    assert_same_scores(predictor, model, texts)
    assert predictor.scores([]).shape == (0, 3)
    assert predictor.predict([]).shape == (0,)
    assert predictor.predict_proba([]).shape == (0, 3)


def test_texts_that_are_refused(any_model):
    model, predictor = any_model
    for text in ("text", b"text"):
        with pytest.raises(ValueError, match="Wrap it in a list"):
            predictor.predict(text)
    with pytest.raises(TypeError, match="Text 1 is of type int; all texts must be str or bytes"):
        predictor.predict(["text", 3])
    for answers in (model, predictor):
        with pytest.raises(ValueError, match=r"[dD]ocument 1 holds the lone surrogate '\\ud800'"):
            answers.predict(["a", "b \ud800"])
    words = pipeline(HashingNgramVectorizer())
    header = {**predictor.header["vectorizers"][0], "token_pattern": r"(?u)\b\w\w+\b"}
    assert _Vectorizer(header).hash_ngrams(0, ["ab \ud800"])[0].shape == (1,)  # in no n-gram
    assert words.predict(["ab \ud800"]).shape == (1,)


@pytest.mark.parametrize("features", ["words", "words+characters"])
def test_bytes_are_texts(features, tmp_path):
    model = TextClassifier(features=features, random_state=0).fit(TEXTS, LABELS)
    check(model, tmp_path, [text.encode() for text in HARD + TEXTS])
    with pytest.raises(UnicodeDecodeError, match="'utf-8' codec can't decode"):
        load(tmp_path / "exported.py").predict([b"\xff"])


@pytest.mark.parametrize(
    "decoding", [{"encoding": "latin-1"}, {"encoding": "utf-16", "decode_error": "replace"}]
)
def test_bytes_are_decoded_as_by_the_vectorizer(decoding, tmp_path):
    model = pipeline(HashingNgramVectorizer(**decoding, norm=None))
    texts = [*TEXTS, *(text.encode(decoding["encoding"], "replace") for text in HARD), b"odd"]
    check(model, tmp_path, texts)


@pytest.mark.parametrize("lists", [True, False])
def test_several_labels(lists, tmp_path):
    y: Any = [["p", "w"], ["w"], [], ["p"], ["w"], ["p", "w"]]
    y = y if lists else np.array([[int("p" in row), int("w" in row)] for row in y])
    model = TextClassifier(max_epochs=30, random_state=0).fit(TEXTS, y)
    assert any(len(np.atleast_1d(row)) for row in model.predict(TEXTS))
    check(model, tmp_path)
    result = subprocess.run(
        [sys.executable, tmp_path / "exported.py", *TEXTS], capture_output=True, text=True
    )
    expected = [row if lists else np.flatnonzero(row).tolist() for row in model.predict(TEXTS)]
    assert result.stdout.splitlines() == ["\t".join(map(str, labels)) for labels in expected], (
        result.stderr
    )


@pytest.mark.parametrize("precision", ["float16", "int8"])
def test_precision_equals_the_precision_of_a_saved_model(precision, tmp_path):
    model = make_text_classifier(n_buckets=300, n_embeddings=10**6, random_state=0).fit(
        TEXTS, LABELS
    )
    predictor = from_folder(model, tmp_path / "model", precision)
    loaded = load_model(tmp_path / "model")
    assert_same_scores(predictor, loaded, HARD)
    export_predictor(model, tmp_path / "exported.py", precision=precision)
    assert load(tmp_path / "exported.py").predict_proba(HARD) == pytest.approx(
        loaded.predict_proba(HARD), abs=1e-7
    )
    with pytest.raises(ValueError, match="precision must be one of"):
        export_predictor(model, tmp_path / "exported.py", precision="int4")


def test_a_folder(tmp_path):
    model = TextClassifier(random_state=0).fit(TEXTS, LABELS)
    size = export_predictor(model, tmp_path / "exported")
    files = {path.name: path.stat().st_size for path in (tmp_path / "exported").iterdir()}
    assert set(files) == {"__main__.py", "__init__.py", "weights.bin"}
    assert size == sum(files.values())
    module = load(tmp_path / "exported")
    assert module.predict(HARD).tolist() == model.predict(HARD).tolist()
    assert module.CLASSES.tolist() == model.classes_.tolist()
    command = [sys.executable, "-W", "error", tmp_path / "exported", *TEXTS]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert output.splitlines() == model.predict(TEXTS).tolist()


WITHOUT_THE_PACKAGE = """
import sys, time

class Absent:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in {"sklearn_hashnlp", "sklearn", "scipy", "torch", "skorch"}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent)
sys.path.insert(0, sys.argv[1])
import exported
print(*exported.predict(["where is it", ""]))
[peak] = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]
print(time.process_time(), int(peak.split()[1]) / 1024)
"""


@pytest.fixture(name="large", scope="module")
def _large() -> Pipeline:
    """A model of many words."""
    words = np.random.default_rng(0).integers(0, 50_000, (3000, 20)).astype(str)
    model = make_text_classifier(
        n_buckets=10**5, n_embeddings=10**5, embedding_dim=4, max_epochs=1, random_state=0
    )
    return model.fit([" ".join(row) for row in words], np.arange(3000) % 2)


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
@pytest.mark.parametrize("name", ["exported.py", "exported"])
def test_numpy_is_enough_and_the_start_is_light(name, large, tmp_path):
    model = large
    export_predictor(model, tmp_path / name)
    command = [sys.executable, "-W", "error", "-c", WITHOUT_THE_PACKAGE, tmp_path]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    assert lines[0].split() == [str(label) for label in model.predict(["where is it", ""])]
    seconds, memory = map(float, lines[1].split())
    assert seconds < 0.5
    assert memory < 60


@pytest.mark.parametrize(
    ("vectorizer", "options", "message"),
    [
        (
            HashingNgramVectorizer(),
            {"hidden_layer_sizes": (4,)},
            "with hidden_layer_sizes is not supported",
        ),
        (HashingNgramVectorizer(), {"loss": "hsigmoid"}, "with loss='hsigmoid' is not supported"),
        (
            HashingNgramVectorizer(tokenizer=str.split, token_pattern=None),
            {},
            "tokenizer has no n-gram specification",
        ),
        (
            HashingNgramVectorizer(analyzer=str.split),
            {},
            "'analyzer' of an n-gram specification must be one of",
        ),
        (
            make_pipeline(HashingVectorizer(), Normalizer()),
            {},
            "got HashingVectorizer, Normalizer, HashEmbedding",
        ),
        (CharNgramFeaturizer(), {}, "takes a Pipeline of HashingNgramVectorizer"),
        (FrequentNgramVectorizer(), {}, "takes a Pipeline of HashingNgramVectorizer"),
    ],
)
def test_what_needs_more_than_the_hash_is_refused(vectorizer, options, message, tmp_path):
    steps = (
        [step for _, step in vectorizer.steps] if isinstance(vectorizer, Pipeline) else [vectorizer]
    )
    model = make_pipeline(*steps, HashEmbeddingClassifier(**SMALL | options)).fit(TEXTS, LABELS)
    with pytest.raises((TypeError, ValueError), match=message):
        export_predictor(model, tmp_path / "model.py")
    assert list(tmp_path.iterdir()) == []


def test_other_folders_are_left_to_load_model(tmp_path):
    for number, vectorizer in enumerate([CharNgramFeaturizer(), FrequentNgramVectorizer()]):
        with pytest.raises(ValueError, match=r"the part '(analyzer|scheme)' of the header"):
            from_folder(pipeline(vectorizer), tmp_path / str(number))
    with pytest.raises(UnsupportedModelError, match="its vectorizer has no n-gram specification"):
        from_folder(pipeline(CharNgramFeaturizer(analyzer="skipgram")), tmp_path / "skipgrams")
    with pytest.raises(UnsupportedModelError, match="a HashingVectorizer is not supported"):
        from_folder(HashingVectorizer(), tmp_path / "vectorizer")
    encoder = make_pipeline(TfidfVectorizer(), TruncatedSVD(2, random_state=0)).fit(TEXTS)
    pretrained = pipeline(NgramVectorUnion(AutoNgramVectorizer(), [FrozenEstimator(encoder)]))
    with pytest.raises(
        TypeError, match="with the vectors of a Pipeline cannot be exported, only of"
    ):
        export_predictor(pretrained, tmp_path / "model.py")
    with pytest.raises(NotFittedError):
        export_predictor(TextClassifier(), tmp_path / "model.py")
