from __future__ import annotations

import numpy as np
import pytest

from sklearn_hashnlp._text_files import suffix_of
from sklearn_hashnlp.persistence import ModelFormatError, load_word_vectors, save_word_vectors

# whitespace that is not ASCII is part of a word
WORDS = ["a", "été", "2.5", "日本", "</s>", "10\u202f000", "\u3000"]
VECTORS = np.random.default_rng(0).normal(size=(7, 7)).astype(np.float32)


@pytest.mark.parametrize("n_words", [0, 7])
@pytest.mark.parametrize("binary", [False, True])
def test_vectors_are_read_as_they_were_written(tmp_path, binary, n_words):
    save_word_vectors(tmp_path / "vectors", WORDS[:n_words], VECTORS[:n_words], binary=binary)
    words, vectors = load_word_vectors(tmp_path / "vectors", binary=binary)
    assert words == WORDS[:n_words]
    assert vectors.shape == (n_words, 7)
    assert vectors.tobytes() == VECTORS[:n_words].tobytes()
    assert [path.name for path in tmp_path.iterdir()] == ["vectors"]


def test_bytes_of_the_formats(tmp_path):
    path = tmp_path / "vectors"
    save_word_vectors(path, ["a", "b"], np.array([[1, 0.1], [1e-30, -2]]))
    assert path.read_bytes() == b"2 2\na 1.0 0.1\nb 1e-30 -2.0\n"
    save_word_vectors(path, ["a", "b"], np.array([[1, 0.5], [0, -2]]), binary=True)
    assert path.read_bytes() == b"2 2\na \0\0\x80?\0\0\0?\nb \0\0\0\0\0\0\0\xc0\n"


def test_binary_without_newlines(tmp_path):
    path = tmp_path / "vectors"
    path.write_bytes(b"2 1\na \0\0\x80?b \0\0\0\xc0")
    words, vectors = load_word_vectors(path, binary=True)
    assert (words, vectors.tolist()) == (["a", "b"], [[1.0], [-2.0]])


def test_bytes_that_are_not_utf_8(tmp_path):
    path = tmp_path / "vectors"
    path.write_bytes(b"1 1\n\xff 1.0\n")
    with pytest.raises(
        ModelFormatError, match=r"vectors: word 1 of 1, b'\\xff', is not in .*'utf-8'.*cp1252"
    ):
        load_word_vectors(path)
    words, vectors = load_word_vectors(path, errors="surrogateescape")
    save_word_vectors(path, words, vectors)
    assert path.read_bytes() == b"1 1\n\xff 1.0\n"
    assert load_word_vectors(path, errors="replace")[0] == ["\ufffd"]
    for binary in (False, True):
        save_word_vectors(path, ["\udce9t\udce9"], np.array([[1.0]]), binary=binary)
        assert load_word_vectors(path, binary=binary, encoding="cp1252")[0] == ["été"]


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz"])
def test_compressed_files_are_written_and_read(tmp_path, suffix, binary):
    path = tmp_path / f"cc.vec{suffix}"
    save_word_vectors(path, WORDS, VECTORS, binary=binary)
    assert suffix_of(path.read_bytes()) == suffix
    words, vectors = load_word_vectors(path, binary=binary)
    assert (words, vectors.tobytes()) == (WORDS, VECTORS.tobytes())
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(ModelFormatError, match="damaged or truncated"):
        load_word_vectors(path, binary=binary)
    with pytest.raises(
        ValueError, match=r"a\.zip: word vectors cannot be written as a zip archive"
    ):
        save_word_vectors(tmp_path / "a.zip", WORDS, VECTORS)


def test_a_byte_order_mark_is_skipped(tmp_path):
    path = tmp_path / "vectors"
    path.write_bytes("\ufeff1 1\né 1\n".encode())
    assert load_word_vectors(path)[0] == ["é"]
    path.write_bytes("1 1\né 1\n".encode("utf-16"))
    assert load_word_vectors(path, encoding="utf-16")[0] == ["é"]


@pytest.mark.parametrize("shape", [(2, 3), (5, 2), (100, 1), (40, 50), (1, 4)])
def test_a_text_file_is_not_read_as_binary(tmp_path, shape):
    path = tmp_path / "vectors"
    save_word_vectors(
        path, [f"word{i}" for i in range(shape[0])], np.random.default_rng(0).normal(size=shape)
    )
    with pytest.raises(
        ModelFormatError, match=r"is in word2vec's text format\. Set binary=False\."
    ):
        load_word_vectors(path, binary=True)


SPACED = ["paris", "New York", " ", "São Paulo do Sul", "x"]


def test_words_with_spaces_are_read_if_vectors_end_in_a_newline(tmp_path):
    path = tmp_path / "vectors"
    words = [f"{word}{i}" for i in range(300) for word in SPACED[:-1]] + ["x"]
    vectors = np.random.default_rng(0).normal(size=(len(words), 20)).astype("<f4")
    vectors.view("u1").reshape(-1)[::7] = 32  # bytes that are spaces
    rows = [
        word.encode() + b" " + vector.tobytes() + b"\n"
        for word, vector in zip(words, vectors, strict=True)
    ]
    path.write_bytes(b"%d 20\n" % len(words) + b"".join(rows))
    read, found = load_word_vectors(path, binary=True)
    assert read == words
    assert found.tobytes() == vectors.tobytes()


@pytest.mark.parametrize("word", ["New York", "Tel Aviv-Yafo", "a b", "New Yor", "été à la mer"])
@pytest.mark.parametrize("position", [0, 3, 9])
def test_words_with_spaces_are_refused_by_name_in_other_binary_files(tmp_path, word, position):
    path = tmp_path / "vectors"
    for seed in range(20):
        words = [f"w{i}" for i in range(10)]
        words[position] = word
        vectors = np.random.default_rng(seed).normal(size=(10, 30)).astype("<f4")
        rows = [
            word.encode() + b" " + vector.tobytes()
            for word, vector in zip(words, vectors, strict=True)
        ]
        path.write_bytes(b"10 30\n" + b"".join(rows))
        with pytest.raises(ModelFormatError, match="has a space"):
            load_word_vectors(path, binary=True)


@pytest.mark.parametrize("binary", [False, True])
def test_of_a_repeated_word_the_first_vector_is_taken(tmp_path, binary):
    path = tmp_path / "vectors"
    save_word_vectors(path, ["a", "b", "c"], np.array([[1], [2], [3]]), binary=binary)
    path.write_bytes(path.read_bytes().replace(b"\nc ", b"\na "))
    with pytest.warns(UserWarning, match="3 vectors of 2 words"):
        words, vectors = load_word_vectors(path, binary=binary)
    assert (words, vectors.tolist()) == (["a", "b"], [[1.0], [2.0]])


@pytest.mark.parametrize(
    ("words", "vectors", "message"),
    [
        (["a"], np.zeros((2, 3)), r"a row for each of 1 words, got an array of shape \(2, 3\)"),
        (["a"], np.zeros(1), "a row for each"),
        (["a b"], np.zeros((1, 1)), "contain no whitespace or control characters, got 'a b'"),
        ([""], np.zeros((1, 1)), "not empty"),
        (["a\x1f"], np.zeros((1, 1)), "control characters"),
        (["a", "a"], np.zeros((2, 1)), "distinct words, got 'a' more than once"),
    ],
)
def test_invalid_words_and_vectors_are_refused(tmp_path, words, vectors, message):
    with pytest.raises(ValueError, match=message):
        save_word_vectors(tmp_path / "vectors", words, vectors)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("content", "binary", "message"),
    [
        (b"", False, "not in a format of word2vec"),
        (b"a 1 2\n", False, "not in a format of word2vec"),
        (b"1 1\na\0b 1\n", False, "binary=True"),
        (b"1 1\na 1\nb 2\n", False, "binary=True"),
        (b"2 2\na 1 2\n", False, "for word 2 of 2.*set binary=True"),
        (b"1 2\na 1 2 3\n", False, "got 4 fields"),
        (b"1 2\na 1 x\n", False, "for word 1 of 1"),
        (b"1 2\na \0\0", True, "got 2 of 8 bytes"),
        (
            b"2 99999999999\na 1 2\n",
            True,
            "promises 99999999999 numbers for each of 2 words, more than the file has",
        ),
        (b"0 99999999999999999999\n", False, "promises 99999999999999999999 numbers"),
        (b"1 2\nabc", True, "got no space after a word.*set binary=False"),
        (b"1 1\na \0\0\x80?\nb \0\0\x80?\n", True, "there is more after 1 words"),
        (b"1 1\na \0\0\x80?b", True, "there is more after 1 words"),
        (b"1 1\na\x07 1\n", False, "word 1 of 1.*control characters"),
        (b"1 2\nNew York 1 2\n", False, "got 4 fields in b'New York 1 2.*may not contain a space"),
    ],
)
def test_damaged_files_are_refused(tmp_path, content, binary, message):
    (tmp_path / "vectors").write_bytes(content)
    with pytest.raises(ModelFormatError, match=message):
        load_word_vectors(tmp_path / "vectors", binary=binary)


@pytest.mark.parametrize("number", ["nan", "inf", "-inf", "1e39", "1e400"])
def test_vectors_that_are_not_finite_are_refused(tmp_path, number):
    path = tmp_path / "vectors"
    path.write_text(f"2 2\na 1 2\nb 3 {number}\n")
    with pytest.raises(
        ModelFormatError, match=r"vector of word 2 of 2, 'b', has NaN or values that float32 cannot"
    ):
        load_word_vectors(path)
    path.write_bytes(b"1 1\na " + np.array([np.nan], dtype="<f4").tobytes() + b"\n")
    with pytest.raises(ModelFormatError, match="'a', has NaN"):
        load_word_vectors(path, binary=True)
    with pytest.raises(ValueError, match="finite vectors, got NaN or infinity for the word 'b'"):
        save_word_vectors(tmp_path / "other", ["a", "b"], np.array([[1.0], [float(number)]]))
