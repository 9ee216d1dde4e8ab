"""Text classifiers on projections: the recipe of each data set, and the variants of the ablations.

A recipe has up to four views of a text: word n-grams, character n-grams of its words, longer
character n-grams, and n-grams of its first words. Each is counted and projected separately; float
projections, unlike bits, are normalized to length one. No step before the classifier is trained.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer

from sklearn_hashnlp import CharNgramFeaturizer, SGNNClassifier, SGNNProjector, SGNNWordProjector

N_BITS = 14


@dataclass(frozen=True)
class Recipe:
    """Hyper-parameters of the classifier of a data set."""

    words: tuple[int, int, int] | None  # min_n, max_n, n_projections of 14 bits or floats
    characters: tuple[int, int, int] | None
    hidden_layer_sizes: tuple[int, ...]
    max_epochs: int
    batch_size: int = 64
    learning_rate: float = 0.002
    input_dropout: float = 0.0
    output: str = "binary"
    dropout: float = 0.5
    # All n-grams of the first words: n_words, n_projections
    beginning: tuple[int, int] | None = None
    lowercase: bool = True  # of the views of characters; words always are
    longer: tuple[int, int, int] | None = None  # a second view of characters

    def pipeline(self, seed: int) -> Pipeline:
        """Build the classifier with a seed for hyperplanes and training."""
        views = []
        if self.words is not None:
            min_n, max_n, n_projections = self.words
            views.append(("words", self._view(_count_words(min_n, max_n), n_projections, seed)))
        for name, view in (("characters", self.characters), ("longer", self.longer)):
            if view is not None:
                min_n, max_n, n_projections = view
                counts = CharNgramFeaturizer(
                    ngram_range=(min_n, max_n),
                    split="punctuation",
                    lowercase=self.lowercase,
                    binary=True,
                )
                views.append((name, self._view(counts, n_projections, seed)))
        if self.beginning is not None:
            n_words, n_projections = self.beginning
            cut = FunctionTransformer(first_words, kw_args={"n_words": n_words})
            counted = self._view(_count_words(1, n_words), n_projections, seed)
            views.append(("beginning", make_pipeline(cut, counted)))
        classifier = SGNNClassifier(
            hidden_layer_sizes=self.hidden_layer_sizes,
            dropout=self.dropout,
            max_epochs=self.max_epochs,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            input_dropout=self.input_dropout,
            random_state=seed,
        )
        return Pipeline([("views", FeatureUnion(views)), ("classifier", classifier)])

    def _view(self, counts: CharNgramFeaturizer, n_projections: int, seed: int) -> Pipeline:
        projector = SGNNProjector(
            n_projections=n_projections, n_bits=N_BITS, output=self.output, random_state=seed
        )
        if self.output == "float":  # bits do not depend on a row's length
            return make_pipeline(counts, projector, Normalizer())
        return make_pipeline(counts, projector)


def _count_words(min_n: int, max_n: int) -> CharNgramFeaturizer:
    return CharNgramFeaturizer(
        analyzer="skipgram",
        ngram_range=(min_n, max_n),
        max_skip=0,
        split="punctuation",
        lowercase=True,
        binary=True,
    )


def first_words(texts: Iterable[str], n_words: int) -> list[str]:
    """Truncate texts to their first words."""
    return [" ".join(text.split()[:n_words]) for text in texts]


# Chosen on training and validation rows.
RECIPES = {
    "mrda": Recipe((1, 2, 160), (1, 3, 160), (128,), max_epochs=4, batch_size=128),
    "trec": Recipe(
        (1, 2, 640),
        (2, 5, 640),
        (64,),
        max_epochs=8,
        learning_rate=0.001,
        output="float",
        beginning=(3, 160),
    ),
    "atis": Recipe((1, 2, 160), (1, 3, 160), (128,), max_epochs=15, output="float"),
    "swda": Recipe(
        (1, 2, 80), (1, 3, 80), (256,), max_epochs=3, batch_size=128, output="float", dropout=0.2
    ),
    "languages79": Recipe(
        (1, 1, 320),
        (1, 3, 320),
        (256,),
        max_epochs=6,
        batch_size=128,
        output="float",
        lowercase=False,
        longer=(4, 4, 320),
    ),
}


def paper_pipeline(
    seed: int,
    *,
    level: str = "word",
    ngram_range: tuple[int, int] = (1, 3),
    max_skip: int | None = None,
    n_projections: int = 80,
    output: str = "binary",
    density: float = 1.0,
    hyperplanes: str = "normal",
    max_epochs: int = 10,
) -> Pipeline:
    """Build the paper's classifier, or a variant of it."""
    counts = CharNgramFeaturizer(ngram_range=ngram_range, split="punctuation")
    if max_skip is not None:
        counts.set_params(analyzer="skipgram", max_skip=max_skip)
    projector = SGNNProjector(
        n_projections=n_projections,
        n_bits=N_BITS,
        output=output,
        density=density,
        hyperplanes=hyperplanes,
        random_state=seed,
    )
    classifier = SGNNClassifier(max_epochs=max_epochs, batch_size=128, random_state=seed)
    if level == "word":
        return make_pipeline(SGNNWordProjector(counts, projector), classifier)
    return make_pipeline(counts, projector, classifier)


# Changes of the paper's classifier, one setting at a time.
ABLATIONS: dict[str, dict[str, Any]] = {
    "words, characters 1-3, 80 x 14 bits": {},
    "characters 1": {"ngram_range": (1, 1)},
    "characters 1-2": {"ngram_range": (1, 2)},
    "characters 1-4": {"ngram_range": (1, 4)},
    "20 x 14": {"n_projections": 20},
    "40 x 14": {"n_projections": 40},
    "160 x 14": {"n_projections": 160},
    "floating-point sums": {"output": "float"},
    "density 0.1": {"density": 0.1},
    "coefficients of -1 and 1": {"hyperplanes": "sign"},
    "Google's projection, bits": {"hyperplanes": "google"},
    "Google's projection, means": {"hyperplanes": "google", "output": "float"},
    "documents": {"level": "document"},
    "documents, words 1-2": {"level": "document", "ngram_range": (1, 2), "max_skip": 0},
    "documents, skip-grams 1-2, skip 2": {
        "level": "document",
        "ngram_range": (1, 2),
        "max_skip": 2,
    },
}
