"""NgramSpec: its values, and counts by it against scikit-learn's vectorizer."""

import json
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.decomposition import TruncatedSVD
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import FeatureUnion, make_pipeline

from sklearn_hashnlp.text import (
    AutoNgramVectorizer,
    CharNgramFeaturizer,
    FrequentNgramVectorizer,
    HashingNgramVectorizer,
)
from sklearn_hashnlp.text._count_ngrams import count_ngrams
from sklearn_hashnlp.text._fasttext_vectorizer import FastTextVectorizer
from sklearn_hashnlp.text._ngram_spec import ANALYZERS, SCHEMES, NgramSpec, cached_spec
from sklearn_hashnlp.text._ngram_vector_union import NgramVectorUnion
from sklearn_hashnlp.text._specs_of import as_scikit_learn, specs_of

TEXTS = ["To be, or not to be", "", "ÉTÉ à la plage 😀", b"that is the question", "no no \ud800 no"]
PLAIN = [text for text in TEXTS if isinstance(text, str)][:3]


@st.composite
def specs(
    draw: st.DrawFn, analyzers: tuple[str, ...] = ANALYZERS, schemes: tuple[str, ...] = SCHEMES
) -> NgramSpec:
    low = draw(st.integers(1, 4))
    damped = draw(st.booleans())
    return NgramSpec(
        n_features=draw(st.integers(1, 2**31 - 1)),
        padding=draw(st.integers(0, 5)),
        scheme=draw(st.sampled_from(schemes)),
        name=draw(st.text(max_size=5)),
        analyzer=draw(st.sampled_from(analyzers)),
        token_pattern=draw(st.sampled_from([r"(?u)\b\w\w+\b", r"\w+|[^\w\s]", r"\S+", r"(\w)\w*"])),
        lowercase=draw(st.booleans()),
        strip_accents=draw(st.sampled_from([None, "ascii", "unicode"])),
        stop_words=tuple(draw(st.lists(st.sampled_from(["be", "to", "été"]), unique=True))),
        around=draw(st.sampled_from([("", ""), ("\x02 ", " \x03")])),
        decode=draw(st.sampled_from([None, ("utf-8", "strict"), ("latin-1", "ignore")])),
        ngram_range=(low, draw(st.integers(low, 5))),
        alternate_sign=not damped and draw(st.booleans()),
        binary=draw(st.booleans()),
        norm=None if damped else draw(st.sampled_from([None, "l1", "l2"])),
        damped=damped,
        weight=draw(st.just(1.0) | st.floats(-1e9, 1e9)),
        dtype=draw(st.sampled_from(["float32", "float64"])),
    )


@given(specs())
def test_round_trip(spec: NgramSpec) -> None:
    assert NgramSpec.from_dict(spec.to_dict()) == spec
    assert NgramSpec.from_dict(json.loads(json.dumps(spec.to_dict()))) == spec


@settings(max_examples=60, deadline=None)
@given(specs(("word", "char", "char_wb"), ("murmur3",)), st.lists(st.text(max_size=12), max_size=3))
def test_counts_are_those_of_scikit_learn(spec: NgramSpec, texts: list[str]) -> None:
    spec = replace(spec, n_features=spec.n_features % 2**20 + 1)
    texts = [text.replace("\ud800", "") for text in [*PLAIN, *texts]]
    options = {
        name: getattr(spec, name)
        for name in ("analyzer", "token_pattern", "ngram_range", "n_features")
    }
    options |= {
        name: getattr(spec, name) for name in ("lowercase", "strip_accents", "binary", "norm")
    }
    options |= {
        "alternate_sign": spec.alternate_sign,
        "stop_words": list(spec.stop_words),
        "dtype": spec.dtype,
    }
    begin, end = spec.around
    expected = HashingVectorizer(**options).transform([f"{begin}{text}{end}" for text in texts])
    X = count_ngrams(texts, [spec])
    assert X.shape == (len(texts), spec.n_features + spec.padding)
    assert X.dtype == spec.dtype
    assert X.indices.tolist() == expected.indices.tolist()
    values = np.float64(1) + np.log(expected.data) if spec.damped else expected.data
    values = values * np.dtype(spec.dtype).type(spec.weight)
    np.testing.assert_allclose(X.data, values.astype(spec.dtype), rtol=1e-6)
    for n_jobs in (2, None):
        assert (count_ngrams(iter(texts), [spec], n_jobs) != X).nnz == 0


def test_specifications_stand_side_by_side() -> None:
    words, characters = AutoNgramVectorizer(n_features=1001).fit(PLAIN).ngram_specs()
    both = count_ngrams(iter(PLAIN), [words, characters])
    assert both.shape == (3, 1001)
    assert (both[:, :500] != count_ngrams(PLAIN, [words])).nnz == 0
    assert (both[:, 500:] != count_ngrams(PLAIN, [characters])).nnz == 0


@pytest.mark.parametrize(
    "vectorizer",
    [
        HashingNgramVectorizer(stop_words="english", ngram_range=[1, np.int64(2)], norm="l1"),
        HashingNgramVectorizer(token_pattern=r"(\w)\w*", alternate_sign=False),
        HashingVectorizer(
            analyzer="char", tokenizer=str.split, token_pattern=None, encoding="latin-1"
        ),
        CharNgramFeaturizer(split="punctuation", lowercase=True, norm="l2"),
        CharNgramFeaturizer(n_features=50, binary=True),
        AutoNgramVectorizer(n_features=1001).fit(PLAIN),
        FeatureUnion(
            [
                ("a", AutoNgramVectorizer(n_features=101)),
                ("b", CharNgramFeaturizer()),
                ("c", "drop"),
            ],
            transformer_weights={"a": 0.25, "b": 3},
        ),
    ],
    ids=lambda vectorizer: type(vectorizer).__name__,
)
def test_a_vectorizer_counts_by_its_specifications(vectorizer: Any) -> None:
    assert (count_ngrams(PLAIN, specs_of(vectorizer)) != vectorizer.transform(PLAIN)).nnz == 0
    assert specs_of(FrozenEstimator(vectorizer)) == specs_of(vectorizer)


def test_scikit_learns_vectorizer_of_a_specification() -> None:
    [spec] = specs_of(HashingVectorizer(stop_words=["b", "a", 1], strip_accents="ascii"))
    assert spec.stop_words == ("a", "b")
    assert specs_of(as_scikit_learn(spec)) == [spec]


def test_parts_of_a_union_have_names_and_weights() -> None:
    parts = [("a", AutoNgramVectorizer().fit(PLAIN)), ("b", HashingNgramVectorizer())]
    union = FeatureUnion(
        [("u", FeatureUnion(parts, transformer_weights={"a": 0.5}))], transformer_weights={"u": 2}
    )
    named = [(spec.name, spec.weight) for spec in specs_of(union)]
    assert named == [("words", 1.0), ("characters", 0.5), ("b", 2.0)]


def test_vectorizers_with_arrays_have_other_schemes() -> None:
    encoder = make_pipeline(TfidfVectorizer(), TruncatedSVD(2, random_state=0)).fit(PLAIN)
    union = NgramVectorUnion(CharNgramFeaturizer(), [FrozenEstimator(encoder)])
    with pytest.raises(NotFittedError):
        union.ngram_specs()
    assert [(spec.scheme, spec.n_features) for spec in specs_of(union.fit(PLAIN))] == [
        ("murmur3", 2**20),
        ("dense", 2),
    ]
    for vectorizer in (FastTextVectorizer(), FrequentNgramVectorizer(ngram_range=(1, 2))):
        with pytest.raises(NotFittedError):
            vectorizer.ngram_specs()
        [spec] = vectorizer.fit(PLAIN).ngram_specs()
        assert spec.n_features == vectorizer.transform(PLAIN).shape[1]
        with pytest.raises(
            ValueError, match=f"columns of the scheme '{spec.scheme}' need the vectorizer"
        ):
            count_ngrams(PLAIN, [spec])


class Reversed(HashingNgramVectorizer):
    def transform(self, X: Any) -> Any:
        return super().transform([text[::-1] for text in X])


class Preprocessed(HashingNgramVectorizer):
    def build_preprocessor(self) -> Any:
        return str.upper


class Decoded(HashingNgramVectorizer):
    def decode(self, doc: Any) -> str:
        return str(doc).upper()


@pytest.mark.parametrize(
    ("transformer", "reason"),
    [
        (
            CharNgramFeaturizer(analyzer="skipgram"),
            "analyzer='skipgram' has no n-gram specification",
        ),
        (
            HashingNgramVectorizer(tokenizer=str.split),
            "a tokenizer has no n-gram specification: it is code",
        ),
        (
            HashingVectorizer(preprocessor=str.lower),
            "a preprocessor has no n-gram specification: it is code",
        ),
        (
            HashingNgramVectorizer(strip_accents=str.lower),
            "'strip_accents' of an n-gram specification must be one of",
        ),
        (
            HashingNgramVectorizer(analyzer=str.split),
            "'analyzer' of an n-gram specification must be one of",
        ),
        (
            HashingNgramVectorizer(input="file"),
            "input='file' has no n-gram specification: it reads files",
        ),
        (
            HashingNgramVectorizer(dtype=np.int64),
            "'dtype' of an n-gram specification must be one of",
        ),
        (
            HashingVectorizer(ngram_range=(0, 1)),
            "'ngram_range' of an n-gram specification must be integers",
        ),
        (Reversed(), "A Reversed has no n-gram specification: its transform is code"),
        (Preprocessed(), "its own build_preprocessor has no n-gram specification"),
        (Decoded(), "its own decode has no n-gram specification"),
        (CountVectorizer(), "A CountVectorizer has no n-gram specification"),
        (
            FeatureUnion([("a", CharNgramFeaturizer()), ("b", TfidfVectorizer())]),
            "A TfidfVectorizer has no n-gram",
        ),
    ],
)
def test_code_and_files_have_none(transformer: Any, reason: str) -> None:
    with pytest.raises((TypeError, ValueError), match=reason):
        specs_of(transformer)


def test_a_subclass_that_decodes_is_counted_by_kernels() -> None:
    expected = HashingNgramVectorizer(lowercase=False).transform([text.upper() for text in PLAIN])
    assert (Decoded(lowercase=False).transform(PLAIN) != expected).nnz == 0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_features", True),
        ("n_features", 2**31),
        ("padding", -1),
        ("scheme", "md5"),
        ("name", None),
        ("analyzer", ["word"]),
        ("token_pattern", 3),
        ("lowercase", 1),
        ("strip_accents", "all"),
        ("stop_words", "the"),
        ("around", [""]),
        ("decode", ["utf-8", None]),
        ("ngram_range", [2, 1]),
        ("ngram_range", [1.0, 2]),
        ("binary", None),
        ("alternate_sign", "no"),
        ("norm", "max"),
        ("damped", True),
        ("weight", float("inf")),
        ("weight", "1"),
        ("dtype", "int64"),
    ],
)
def test_wrong_values_are_refused_by_name(name: str, value: Any) -> None:
    values = HashingNgramVectorizer().ngram_specs()[0].to_dict()
    with pytest.raises(ValueError, match=f"'{name}'"):
        NgramSpec.from_dict(values | {name: value})


@pytest.mark.parametrize(
    "values",
    [
        None,
        [],
        {},
        {"n_features": 3},
        NgramSpec(n_features=1, token_pattern="a").to_dict() | {"b": 1},
    ],
)
def test_missing_and_unknown_values_are_refused(values: Any) -> None:
    with pytest.raises(ValueError, match="must have the values n_features, padding"):
        NgramSpec.from_dict(values)


def test_errors_name_the_caller_and_the_document() -> None:
    [spec] = HashingNgramVectorizer(token_pattern=r"\S+").ngram_specs()
    for refused, message in (
        (3, "document 1 is 3"),
        ("a \ud800", "document 1 holds the lone surrogate"),
    ):
        with pytest.raises((TypeError, ValueError), match=f"the caller.*{message}"):
            count_ngrams(["a", refused], [spec], caller="the caller")
    with pytest.raises(UnicodeDecodeError) as caught:
        count_ngrams(["a", b"\xff"], [spec], caller="the caller")
    assert caught.value.__notes__ == ["the caller: this happened at document 1."]
    assert count_ngrams(TEXTS[:4], [spec]).nnz
    [words] = CharNgramFeaturizer().ngram_specs()
    with pytest.raises(TypeError, match="expects documents of type str, but document 0 is b'a'"):
        count_ngrams([b"a"], [words])


def test_the_description_alone_is_light() -> None:
    code = """
import importlib.util, sys
from sklearn_hashnlp import __path__
spec = importlib.util.spec_from_file_location("light", f"{__path__[0]}/text/_ngram_spec.py")
sys.modules["light"] = module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
print(sorted({"numpy", "scipy", "sklearn", "torch"} & set(sys.modules)))
"""
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout == "[]\n"


def test_a_float_is_refused_after_an_equal_integer():
    assert cached_spec(1, 1, n_features=8, analyzer="char").ngram_range == (1, 1)
    with pytest.raises(
        ValueError, match="'ngram_range' of an n-gram specification must be integers"
    ):
        cached_spec(1.0, 1, n_features=8, analyzer="char")
