"""Every matrix must be scikit-learn's, entry for entry."""

import io
import itertools
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import HashingVectorizer

from sklearn_hashnlp.text import HashingNgramVectorizer, _count_ngrams
from sklearn_hashnlp.text._count_ngrams import has_kernel

from ..strategies import TEXTS


def assert_same_matrix(ours, theirs):
    assert type(ours) is type(theirs)
    assert ours.shape == theirs.shape
    for name in ("data", "indices", "indptr"):
        mine, expected = getattr(ours, name), getattr(theirs, name)
        assert mine.dtype == expected.dtype, name
        np.testing.assert_array_equal(mine, expected, err_msg=name)
    assert ours.has_canonical_format
    assert ours.has_sorted_indices


def both(texts, **parameters):
    return (
        HashingNgramVectorizer(**parameters).transform(texts),
        HashingVectorizer(
            **{name: value for name, value in parameters.items() if name != "n_jobs"}
        ).transform(texts),
    )


FLAGS = st.fixed_dictionaries(
    {
        "ngram_range": st.sampled_from([(1, 1), (1, 2), (2, 2), (1, 4), (3, 5), (2, 12)]),
        "lowercase": st.booleans(),
        "strip_accents": st.sampled_from([None, "ascii", "unicode"]),
        "binary": st.booleans(),
        "norm": st.sampled_from([None, "l1", "l2"]),
        "alternate_sign": st.booleans(),
        "n_features": st.sampled_from([1, 2, 7, 1000, 2**20, 2**31 - 2]),
        "dtype": st.sampled_from([np.float32, np.float64]),
        "n_jobs": st.sampled_from([None, 2]),
    }
)
WORDS = st.fixed_dictionaries(
    {
        "token_pattern": st.sampled_from(
            [
                r"(?u)\b\w\w+\b",
                r"(?u)\b\w+\b",
                r"\w+|[^\w\s]",
                r"\w\w+",
                r"\S+",
                r"\S\S+",
                r"(?u)\S+",
                r"[a-z]+",
            ]
        ),
        "stop_words": st.sampled_from([None, ["the", "of", ".", "é", "word", "a.", "ab,"]]),
    }
)


@given(TEXTS.filter(len), FLAGS, WORDS)
def test_words_of_any_text(texts, flags, words):
    with pytest.MonkeyPatch.context() as patch:
        # Whether stop words fit the pattern is scikit-learn's question, and its warning.
        patch.setattr(HashingVectorizer, "_check_stop_words_consistency", lambda *_: None)
        assert_same_matrix(*both(texts, **flags, **words))


@pytest.mark.parametrize("analyzer", ["char", "char_wb"])
@given(texts=TEXTS.filter(len), flags=FLAGS)
def test_characters_of_any_text(analyzer, texts, flags):
    assert_same_matrix(*both(texts, analyzer=analyzer, **flags))


AWKWARD = [
    *("", " ", "\x00", "Σ", "ΑΣ", "İ", "ﬃ ℡", "e\u0301\u0301", "👩🏽‍🔬 🇫🇷"),
    *("\u3000 \u2028x", "ا\u200dب", "\ufeffa b"),
]


@pytest.mark.parametrize("analyzer", ["word", "char", "char_wb"])
@pytest.mark.parametrize("strip_accents", [None, "unicode", "ascii"])
@pytest.mark.parametrize("lowercase", [True, False])
def test_awkward_texts_alone_and_in_company(analyzer, strip_accents, lowercase):
    options = {
        "analyzer": analyzer,
        "ngram_range": (1, 3),
        "strip_accents": strip_accents,
        "lowercase": lowercase,
    }
    for text in AWKWARD:
        for texts in ([text], ["plain ASCII", text, "THE END"]):
            assert_same_matrix(*both(texts, **options))


@pytest.mark.parametrize("token_pattern", [r"\S+", r"\S\S+", r"(?u)\S+", r"(?u)\S\S+"])
def test_every_blank_of_python_parts_words(token_pattern):
    blanks = [character for character in map(chr, range(0x110000)) if character.isspace()]
    assert {"\xa0", "\u2003", "\x1c", "\x1d", "\x1e", "\x1f", "\x85"} <= set(blanks)
    # the last is a blank and an accent, taken apart
    no_blanks = ["\x00", "\x1b", "\u200b", "\ufeff", "\u180e", "´"]
    pairs = itertools.pairwise([*blanks, *no_blanks, "\n", "x"])
    texts = [f"{a}Ab{b}{a}c.{b}-{a}{e}!,{b}D{e}" for a, b in pairs for e in "eÉ"]
    for strip_accents, lowercase in itertools.product([None, "unicode", "ascii"], [True, False]):
        options = {"strip_accents": strip_accents, "lowercase": lowercase, "ngram_range": (1, 3)}
        for documents in (texts, [text for text in texts if text.isascii()]):
            assert_same_matrix(*both(documents, token_pattern=token_pattern, **options))


def test_patterns_of_words_between_blanks_are_compiled():
    for token_pattern in (r"\S+", r"\S\S+", r"(?u)\S+", r"(?u)\S\S+"):
        assert has_kernel(*HashingNgramVectorizer(token_pattern=token_pattern).ngram_specs())


TEXT_LIST = ["First text.", "Second text,", "and a thïrd"]


@pytest.mark.parametrize(
    "texts", ["text", ["hello world", np.nan, "hello hello"]], ids=["a string", "NaN"]
)
def test_messages_begin_with_scikit_learns(texts):
    with pytest.raises(ValueError, match=r"string object received|np\.nan is an invalid") as theirs:
        HashingVectorizer().transform(texts)
    with pytest.raises(ValueError, match=f"^{re.escape(str(theirs.value))}"):
        HashingNgramVectorizer().transform(texts)


def test_one_huge_document_among_small_ones():
    huge = "Lorem ipsum dolor sit amet, consectetur — adipiscing élit. " * 9_000
    for parameters in (
        {"ngram_range": (1, 2)},
        {"analyzer": "char", "ngram_range": (1, 3), "dtype": np.float32},
    ):
        assert_same_matrix(*both(["small", huge, "", "small too"], **parameters))


def test_a_long_document_in_front_of_short_ones_asks_for_little_memory():
    rng = np.random.default_rng(0)
    long = " ".join(map(str, rng.integers(10**6, size=300_000)))
    X = HashingNgramVectorizer().transform([long, *["a b cd"] * 200_000])
    assert X.shape[0] == 200_001
    assert X.data.base is None or X.data.base.nbytes < 2**30


class Lying(str):
    """A text that is not as long as it says."""

    __slots__ = ()

    def __len__(self):
        return 2**22


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_the_length_that_a_subclass_of_str_claims_is_not_believed(n_jobs):
    X = HashingNgramVectorizer(n_jobs=n_jobs).transform([Lying("ab cd"), "x y"])
    assert_same_matrix(X, HashingVectorizer().transform(["ab cd", "x y"]))


@pytest.mark.parametrize(
    "column",
    [
        dict.fromkeys(TEXT_LIST).keys(),
        np.array(TEXT_LIST, dtype=np.dtypes.StringDType()),
        pd.Series(TEXT_LIST, dtype="category"),
        pa.chunked_array([TEXT_LIST[:1], TEXT_LIST[1:]]),
        [text.encode() for text in TEXT_LIST],
        np.array([text.encode() for text in TEXT_LIST]),
        [np.str_(text) for text in TEXT_LIST],
    ],
    ids=lambda column: f"{type(column).__module__}.{type(column).__name__}",
)
def test_columns_of_all_kinds(column):
    assert_same_matrix(
        HashingNgramVectorizer().transform(column), HashingVectorizer().transform(TEXT_LIST)
    )


def test_a_generator_is_read_as_it_goes():
    seen = []

    def texts():
        for i in range(5_000):
            seen.append(i)
            yield f"text number {i} " * 50 if i < 4_000 else 7

    with pytest.raises(TypeError, match="document 4000 is 7"):
        HashingNgramVectorizer().transform(texts())
    assert len(seen) < 5_000


def test_files_and_their_names(tmp_path):
    names = []
    for i, text in enumerate(TEXT_LIST):
        (tmp_path / f"{i}.txt").write_text(text, encoding="utf-8")
        names.append(str(tmp_path / f"{i}.txt"))
    expected = HashingVectorizer().transform(TEXT_LIST)
    assert_same_matrix(HashingNgramVectorizer(input="filename").transform(names), expected)
    files = [io.BytesIO(text.encode()) for text in TEXT_LIST]
    assert_same_matrix(HashingNgramVectorizer(input="file").transform(files), expected)
    with pytest.raises(FileNotFoundError) as caught:
        HashingNgramVectorizer(input="filename").transform([*names, "missing.txt"])
    assert "document 3" in caught.value.__notes__[0]


@pytest.mark.parametrize(
    ("parameters", "texts"),
    [
        ({"preprocessor": str.swapcase}, TEXT_LIST),
        ({"tokenizer": str.split, "token_pattern": None}, TEXT_LIST),
        ({"analyzer": str.split}, TEXT_LIST),
        ({"analyzer": lambda tokens: tokens}, [["already", "cut"], ["into", "tokens"]]),
        ({"strip_accents": lambda text: text.replace("ï", "i")}, TEXT_LIST),
        ({"token_pattern": r"(\w)\w*"}, TEXT_LIST),
        ({"dtype": np.int64, "norm": None}, TEXT_LIST),
    ],
)
def test_what_no_kernel_knows_is_left_to_scikit_learn(parameters, texts):
    assert_same_matrix(*both(texts, **parameters))


def test_warnings_and_errors_of_scikit_learn_come_through():
    with pytest.warns(UserWarning, match="stop_words may be inconsistent"):
        HashingNgramVectorizer(stop_words=["don't"]).transform(TEXT_LIST)
    with pytest.raises(ValueError, match="lower boundary larger"):
        HashingNgramVectorizer(ngram_range=(2, 1)).transform(TEXT_LIST)
    with pytest.raises(ValueError, match="More than 1 capturing group"):
        HashingNgramVectorizer(token_pattern="(a)(b)").transform(TEXT_LIST)
    with pytest.raises(UnicodeDecodeError) as caught:
        HashingNgramVectorizer().transform([b"fine", b"\xff"])
    assert "document 1" in caught.value.__notes__[0]


@pytest.mark.parametrize(
    "parameters", [{}, {"token_pattern": "[a-z]+"}, {"analyzer": "char"}], ids=str
)
def test_what_is_no_text_is_named_by_its_position(parameters):
    for culprit in (None, 7, 2.5, float("nan"), pd.NA, ["a", "list"]):
        message = f"HashingNgramVectorizer expects .* document 2 is {re.escape(repr(culprit))}"
        with pytest.raises((TypeError, ValueError), match=message):
            HashingNgramVectorizer(**parameters).transform(["fine", "fine too", culprit])
    with pytest.raises(ValueError, match="expects one column of documents"):
        HashingNgramVectorizer(**parameters).transform(np.array([TEXT_LIST, TEXT_LIST]))


@pytest.mark.parametrize(
    "parameters",
    [
        {"analyzer": "char"},
        {"analyzer": "char_wb"},
        {"token_pattern": r"\w+|[^\w\s]"},
        {"token_pattern": r"\S+"},
    ],
)
def test_a_lone_surrogate_inside_an_ngram_is_refused_by_position(parameters):
    texts = ["é"] * 700 + ["a \ud800 b"]
    with pytest.raises(UnicodeEncodeError):
        HashingVectorizer(**parameters).transform(texts)
    for n_jobs in (1, 2):
        with pytest.raises(ValueError, match=r"document 700 holds the lone surrogate '\\ud800'"):
            HashingNgramVectorizer(n_jobs=n_jobs, **parameters).transform(texts)
    with pytest.raises(ValueError, match="document 700 holds"):
        HashingNgramVectorizer(token_pattern="[^ ]+").transform(texts)


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({}, "a \ud800b"),
        ({"token_pattern": r"\S\S+"}, "ab \ud800 cd"),
        ({}, "ab\udfffcd ef"),
        ({"analyzer": "char", "ngram_range": (9, 9)}, "a \ud800 b"),
    ],
)
def test_a_lone_surrogate_outside_all_ngrams_does_no_harm(parameters, text):
    assert_same_matrix(*both(["before", text, "bé hind"], **parameters))


@pytest.mark.parametrize(
    "parameters", [{"n_features": 0}, {"n_features": 2**31}, {"n_jobs": "all"}]
)
def test_the_dangerous_ones_are_refused_without_fit_too(parameters):
    with pytest.raises(
        ValueError, match=f"The {next(iter(parameters))!r} parameter of HashingNgramVectorizer"
    ):
        HashingNgramVectorizer(**parameters).transform(TEXT_LIST)


def test_after_an_error_the_waiting_chunks_are_given_up(monkeypatch):
    counted = []
    encoder = _count_ngrams.encoder

    def watched(texts, **options):
        counted.append(len(texts))
        return encoder(texts, **options)

    monkeypatch.setattr(_count_ngrams, "encoder", watched)
    # Two threads have five chunks of 128 documents to do when the first one fails; each takes a
    # while.
    texts = ["\ud800", *["some words " * 5_000] * 1_000]
    with pytest.raises(ValueError, match="document 0 holds"):
        HashingNgramVectorizer(analyzer="char", n_jobs=2).transform(texts)
    assert len(counted) <= 4


def test_it_is_a_scikit_learn_vectorizer():
    vectorizer, defaults = HashingNgramVectorizer(), HashingVectorizer().get_params()
    assert isinstance(vectorizer, HashingVectorizer)
    assert set(vectorizer.get_params()) == {*defaults, "n_jobs"}
    assert {name: vectorizer.get_params()[name] for name in defaults} == defaults
