import json

import numpy as np

from sklearn_hashnlp.sentences._reader import SentenceReader, WordFrequencies
from tests.sentence_texts import LISTS, read

READER = SentenceReader(6, 8, (2, 5), 3, WordFrequencies.count(read(LISTS)))


def test_words_and_marks_in_small_letters():
    words, rows = READER.word_ids(["Bar, carn!", "", "CARN bar"], first=0, caller="Me")
    assert words == ["bar", ",", "carn", "!"]
    assert rows.values.tolist() == [0, 1, 2, 3, 2, 0]
    assert rows.offsets.tolist() == [0, 4, 4, 6]


def test_projections_are_floats_of_that_size_and_seed():
    rows = READER.projector.transform(READER.featurizer.transform(["bar", "b", "?"]))
    assert rows.dtype == np.float32
    assert rows.shape == (3, 48)
    assert rows.any(axis=1).all()  # a single character has n-grams, too
    assert not np.array_equal(rows, SentenceReader(6, 8, (2, 5), 4, READER.frequencies).projector.transform(
        READER.featurizer.transform(["bar", "b", "?"])
    ))  # fmt: skip


def test_it_comes_back_from_its_state():
    values, arrays = READER.to_state()
    back = SentenceReader.from_state(json.loads(json.dumps(values)), arrays)
    words = ["bar", "carn", "never", "?"]
    assert (back.n_projections, back.n_bits, back.ngram_range, back.seed) == (6, 8, (2, 5), 3)
    assert back.weights(words).tobytes() == READER.weights(words).tobytes()
    assert np.array_equal(back.frequencies.counts, READER.frequencies.counts)
    assert len(arrays["slots"]) == len(arrays["counts"]) < 100
