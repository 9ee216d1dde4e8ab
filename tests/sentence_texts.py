"""A small text for sentence encoders, and an encoder as small."""

from functools import cache

import numpy as np

from sklearn_hashnlp.sentences import Network, Objectives, SGNNSentenceEncoder
from sklearn_hashnlp.sentences._sentence_reader import Paragraphs, read_paragraphs
from sklearn_hashnlp.text import split_sentences

TOPICS = [
    [f"{begin}{end}" for begin in "bcdfg" for end in ends]
    for ends in (("ar", "arn"), ("el", "elm"), ("im", "ime"), ("op", "opu"))
]
_RNG = np.random.default_rng(0)


def paragraph(topic: int, n_sentences: int) -> list[str]:
    """Return sentences of the words of one topic."""
    return [
        " ".join(_RNG.choice(TOPICS[topic], size=_RNG.integers(2, 6)).tolist()).capitalize() + "."
        for _ in range(n_sentences)
    ]


LISTS = [paragraph(number % 4, 1 + number % 4) for number in range(40)]
PARAGRAPHS = [" ".join(sentences) for sentences in LISTS]
QUERIES = ["bar carn", "belm fel", "time flies", "", "🙂", "Bar, carn!"]
SMALL = {
    "n_projections": 6,
    "n_bits": 8,
    "projection_dim": 16,
    "n_components_removed": 2,
    "n_tables": 3,
    "table_bits": 4,
    "word_steps": 2,
    "batch_size": 16,
    "max_epochs": 2,
    "learning_rate": 0.01,
    "random_state": 0,
}


def make(**options: object) -> SGNNSentenceEncoder:
    """Return an encoder that trains in some tenths of a second; options may be fields, as
    ``network__n_layers``.
    """
    network = Network(embedding_dim=8, n_layers=1, n_heads=2, feedforward_size=16)
    return SGNNSentenceEncoder(**SMALL, network=network, objectives=Objectives()).set_params(
        **options
    )


@cache
def fitted() -> SGNNSentenceEncoder:
    """Return the small encoder, fitted once for all tests; none of them may change it."""
    return make().fit(PARAGRAPHS)


def bytes_of(encoder: SGNNSentenceEncoder) -> bytes:
    """Return the vectors of some sentences, to compare the last bit."""
    return encoder.transform([*QUERIES, *PARAGRAPHS]).tobytes()


def learned(encoder: SGNNSentenceEncoder) -> tuple[object, ...]:
    """Return all that an encoder has learned, to compare the last bit."""
    values, arrays = encoder._get_model_state()
    contents = {
        name: (array.shape, array.dtype.str, array.tobytes()) for name, array in arrays.items()
    }
    history = [(entry["epoch"], entry["train_loss"]) for entry in encoder.history_]
    return contents, values["seeds"], values["trained_on"], history, encoder.log_


def read(texts: list[str] | list[list[str]]) -> Paragraphs:
    """Read paragraphs as an encoder does."""
    return read_paragraphs(
        texts,
        split=split_sentences,
        max_sentences=8,
        max_words=99,
        caller="Me",
    )
