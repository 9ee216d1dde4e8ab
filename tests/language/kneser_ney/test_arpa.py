"""ARPA files of KneserNeyLanguageModel: read back, read by an independent reader, and those of
others.
"""

from __future__ import annotations

import gzip
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_hashnlp import KneserNeyLanguageModel, load_model, save_model
from sklearn_hashnlp._text_files import suffix_of
from sklearn_hashnlp.persistence import ModelFormatError
from tests.oracles.arpa import Arpa

SENTENCES = ["a b c", "a b d", "b c a", "c", "a b c d", "é a"]


@pytest.mark.parametrize(
    ("order", "name"),
    [(1, "model.arpa"), (2, "model.arpa.gz"), (3, "model.arpa.bz2"), (7, "model.arpa.xz")],
)
def test_a_file_is_read_back_to_the_last_bit(order, name, tmp_path):
    model = KneserNeyLanguageModel(order=order).fit([*SENTENCES, "nicht-utf8\udcff"])
    model.save_arpa(tmp_path / name)
    loaded = KneserNeyLanguageModel.load_arpa(tmp_path / name)
    assert list(loaded.vocabulary_) == list(model.vocabulary_)
    assert loaded.n_ngrams_ == model.n_ngrams_
    assert loaded.predict_proba(SENTENCES).tobytes() == model.predict_proba(SENTENCES).tobytes()
    assert np.isnan(loaded.discounts_).all()
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert suffix_of((tmp_path / name).read_bytes()) == (
        None if name == "model.arpa" else Path(name).suffix
    )
    save_model(loaded, tmp_path / "folder")
    assert (
        load_model(tmp_path / "folder").score_samples(SENTENCES).tolist()
        == model.score_samples(SENTENCES).tolist()
    )


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from("abcd"), max_size=6), min_size=1, max_size=15),
    st.lists(
        st.lists(st.sampled_from(["a", "b", "c", "d", "<unk>"]), max_size=6), min_size=1, max_size=5
    ),
    st.sampled_from([(1,), (1, 1, 2), (1, 2)]),
)
def test_an_independent_reader_finds_the_same_probabilities(
    tmp_path_factory, sentences, asked, min_counts
):
    model = KneserNeyLanguageModel(order=4, min_ngram_counts=min_counts).fit(
        [*sentences, ["a", "b", "c", "d"]]
    )
    path = tmp_path_factory.mktemp("arpa") / "model.arpa"
    model.save_arpa(path)
    reader = Arpa(path.read_text(encoding="utf-8"))
    expected = [reader.score(sentence, 4) * math.log(10) for sentence in asked]
    assert model.score_samples(asked) == pytest.approx(expected, abs=1e-9)


SRILM = r"""a comment
\data\
ngram 1=5
ngram  2 = 3
ngram 3=2

\1-grams:
-0.5	</s>
-99	<s>	-0.25
-0.6	a	-0.1
-0.7	b	-0.2
-0.8	c

\2-grams:
-0.3	<s> a	-0.15
-0.2 a b -0.05
-0.1	b c	0

\3-grams:
-0.02	a b c
-0.03	<s> a c

\end\
"""


def test_a_model_of_another_toolkit_backs_off_over_missing_ngrams(tmp_path):
    """ "a c" is missing though "<s> a c" is there, as after pruning; lines are in any order, and
    <unk> is missing.
    """
    (tmp_path / "model.arpa").write_text(SRILM, encoding="utf-8")
    model, reader = KneserNeyLanguageModel.load_arpa(tmp_path / "model.arpa"), Arpa(SRILM)
    assert model.order == 3
    assert list(model.vocabulary_) == ["</s>", "a", "b", "c", "<unk>", "<s>"]
    for sentence in ("a b c", "a c b", "c", "", "b c a b c c a c"):
        expected = reader.score(sentence.split(), 3)
        assert model.score_samples([sentence])[0] == pytest.approx(expected * math.log(10))
    assert model.score_samples(["zzz"])[0] < -200


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("\\data\\", "data", r"the line \\data\\ of an ARPA file, and the file ends"),
        ("ngram 1=5", "ngram 1=4", "line 14: the header announced 4 1-grams, and there are 5"),
        (
            "ngram 1=5",
            "ngram 1=99999999999999",
            "line 14: the header announced 99999999999999 1-grams",
        ),
        ("ngram 1=5", "ngram 1=" + "9" * 5000, "line 3: expected ngram 1="),
        ("ngram 1=5", "ngram 1=-5", "line 3: expected ngram 1="),
        ("ngram 1=5\n", "", "line 3: expected ngram 1="),
        ("ngram 1=5\nngram  2 = 3\nngram 3=2\n", "", "line 4: expected ngram 1="),
        ("\\2-grams:", "\\3-grams:", r"line 14: expected \\2-grams:"),
        ("\\end\\\n", "", "and the file ends"),
        ("\\end\\", "\\4-grams:", r"line 23: expected \\end\\"),
        ("-0.7\tb", "-0.7\ta", "line 11: the word 'a' was there before"),
        ("-0.7\tb", "0.7\tb", "line 11: '0.7' is no logarithm of a probability"),
        ("-0.7\tb", "-1e308\tb", "line 11: '-1e308' is no logarithm of a probability"),
        ("-0.7\tb\t-0.2", "-0.7\tb\t300", "line 11: '300' is no backoff weight"),
        ("-0.7\tb", "nan\tb", "line 11: 'nan' is no logarithm"),
        (
            "-0.7\tb",
            "inf\tb",
            "line 11: 'inf' is no logarithm of a probability; that of zero is -99",
        ),
        (
            "-0.7\tb",
            "x\tb",
            "line 11: expected a number, 1 words and perhaps another number, got 'x b -0.2'",
        ),
        ("-0.7\tb\t-0.2", "-0.7", "line 11: expected a number, 1 words"),
        ("-0.7\tb\t-0.2", "-0.7\tb\tinf", "line 11: 'inf' is no backoff weight"),
        ("-0.2 a b", "-0.2 a d", "line 16: the word 'd' is no 1-gram"),
        ("-0.2 a b", "-0.2 b c", "line 17: the n-gram was in line 16 before"),
        (
            "-0.02\ta b c",
            "-0.02\tb a c",
            "line 20: the 2-gram 'b a', which this n-gram begins with, is missing",
        ),
        ("-0.02\ta b c", "-0.02\ta b c\t-0.5", "line 20: '-0.5' is no backoff weight of a 3-gram"),
    ],
)
def test_damaged_files_are_refused_with_their_line(old, new, message, tmp_path):
    assert SRILM.count(old) == 1
    (tmp_path / "model.arpa").write_text(SRILM.replace(old, new), encoding="utf-8")
    with pytest.raises(ModelFormatError, match=message):
        KneserNeyLanguageModel.load_arpa(tmp_path / "model.arpa")


def scores(path, **options):
    model = KneserNeyLanguageModel.load_arpa(path, **options)
    return [
        *model.score_samples(["a b c", "a zzz b", "c a", ""]),
        *model.predict_proba(["b", "a"]).ravel(),
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<unk>", "<UNK>"),
        ("-99\t<s>", "-inf\t<s>"),
        ("-0.3\t<s> a", "-0.4\tb <s>\t-0.1\n-0.3\t<s> a"),  # no sentence has this n-gram
        ("\\data\\", "\ufeff\\data\\"),
        ("\n", "\r\n"),
    ],
)
def test_files_of_other_programs_have_the_same_probabilities(old, new, tmp_path):
    content = (
        SRILM.replace("a comment\n", "")
        .replace("-0.8\tc", "-0.8\tc\n-1.5\t<unk>\t-0.3")
        .replace("1=5", "1=6")
    )
    (tmp_path / "model.arpa").write_bytes(content.encode())
    other = content.replace(old, new)
    assert other != content
    if "b <s>" in new:
        other = other.replace("2 = 3", "2 = 4")
    (tmp_path / "other.arpa").write_bytes(other.encode())
    assert scores(tmp_path / "other.arpa") == scores(tmp_path / "model.arpa")
    ngrams = [
        KneserNeyLanguageModel.load_arpa(tmp_path / name).n_ngrams_
        for name in ("other.arpa", "model.arpa")
    ]
    assert ngrams[0] == ngrams[1]


def test_an_unknown_word_in_capitals_is_one_in_longer_ngrams_too(tmp_path):
    content = (
        SRILM.replace("-0.8\tc", "-0.8\tc\n-1.5\t<UNK>\t-0.3")
        .replace("1=5", "1=6")
        .replace("-0.2 a b", "-0.2 a <UNK>")
    )
    content = content.replace("-0.02\ta b c", "-0.02\ta <UNK> c")
    (tmp_path / "model.arpa").write_text(content, encoding="utf-8")
    (tmp_path / "other.arpa").write_text(content.replace("<UNK>", "<unk>"), encoding="utf-8")
    assert scores(tmp_path / "model.arpa") == scores(tmp_path / "other.arpa")


def test_files_in_other_encodings(tmp_path):
    content = SRILM.replace("-0.8\tc", "-0.8\té")
    content = content.replace("b c", "b é").replace("a c", "a é")
    for encoding in ("cp1252", "utf-16", "utf-8"):
        (tmp_path / "model.arpa").write_bytes(content.encode(encoding))
        model = KneserNeyLanguageModel.load_arpa(tmp_path / "model.arpa", encoding=encoding)
        assert list(model.vocabulary_) == ["</s>", "a", "b", "é", "<unk>", "<s>"]
    (tmp_path / "model.arpa").write_bytes(content.encode("cp1252"))
    with pytest.raises(
        ModelFormatError, match=r"line 12: expected UTF-8, .* 0xe9\. .*encoding='cp1252'"
    ):
        KneserNeyLanguageModel.load_arpa(tmp_path / "model.arpa", errors="strict")


def test_a_truncated_archive_is_refused_with_its_line(tmp_path):
    data = gzip.compress(SRILM.encode())
    (tmp_path / "model.arpa.gz").write_bytes(data[:-20])
    with pytest.raises(ModelFormatError, match=r"line \d+: the file is damaged or truncated"):
        KneserNeyLanguageModel.load_arpa(tmp_path / "model.arpa.gz")


@pytest.mark.parametrize(
    ("word", "message"),
    [
        *((word, "cannot hold the word") for word in ("", "a b", "\t")),
        ("x\ud800", r"the word 'x\\ud800': UTF-8 cannot encode its lone surrogate '\\ud800'"),
        ("\udcc3\udca9", r"the word '\\udcc3\\udca9': its lone surrogates would be read as 'é'"),
    ],
)
def test_a_word_that_arpa_cannot_hold_is_refused(word, message, tmp_path):
    model = KneserNeyLanguageModel(order=2).fit([["é", word]])
    with pytest.raises(ValueError, match=message):
        model.save_arpa(tmp_path / "model.arpa")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written_is_refused_by_its_own_name(tmp_path):
    model = KneserNeyLanguageModel(order=2).fit(SENTENCES)
    (tmp_path / "file").write_text("x")
    for name in ("missing/model.arpa", "file/model.arpa"):
        with pytest.raises(OSError, match="no ARPA file can be written there") as caught:
            model.save_arpa(tmp_path / name)
        assert caught.value.filename == str(tmp_path / name)
    with pytest.raises(IsADirectoryError, match="is a folder; expected the name of an ARPA file"):
        model.save_arpa(tmp_path)
    with pytest.raises(
        ValueError, match=r"model\.zip: an ARPA file cannot be written as a zip archive"
    ):
        model.save_arpa(tmp_path / "model.zip")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_the_smallest_file_is_a_model(tmp_path):
    (tmp_path / "model.arpa").write_text(
        "\\data\\\nngram 1=1\n\\1-grams:\n-0.5 a\n\\end\\", encoding="utf-8"
    )
    model = KneserNeyLanguageModel.load_arpa(tmp_path / "model.arpa")
    assert model.predict_proba(["a"])[0, 0] == pytest.approx(10**-0.5)
