"""What the parameters of the sentence encoder may be, as scikit-learn declares it, and together."""

from __future__ import annotations

import math
from numbers import Integral, Real
from os import PathLike
from typing import Any, Final

from sklearn_hashnlp._sklearn import Interval, StrOptions
from sklearn_hashnlp.sentences._objective import LOSSES, both_ends
from sklearn_hashnlp.training._parameters import check_callbacks

_WEIGHTS = ("sentence_weight", "word_weight", "masked_weight")

OF_SENTENCE_ENCODERS: Final[dict[str, list[Any]]] = {
    "n_projections": [Interval(Integral, 1, None, closed="left")],
    "n_bits": [Interval(Integral, 1, None, closed="left")],
    "ngram_range": [tuple, list],
    "spelling_width": [Interval(Integral, 1, None, closed="left")],
    "context_share": [Interval(Real, 0, 1, closed="both")],
    "n_common": [Interval(Integral, 0, None, closed="left")],
    "width": [Interval(Integral, 1, None, closed="left")],
    "n_layers": [Interval(Integral, 0, None, closed="left")],
    "n_heads": [Interval(Integral, 1, None, closed="left")],
    "feedforward_size": [Interval(Integral, 1, None, closed="left")],
    "pooling": [StrOptions({"max", "mean", "attention", "weighted"})],
    "pooling_width": [Interval(Integral, 1, None, closed="left"), None],
    "depths": [Interval(Integral, 1, 2, closed="both")],
    "positions": ["boolean"],
    "n_tables": [Interval(Integral, 0, None, closed="left")],
    "table_bits": [Interval(Integral, 1, 24, closed="both")],
    "dropout": [Interval(Real, 0, 1, closed="left")],
    "start": [StrOptions({"identity", "random"})],
    "word_steps": [Interval(Integral, 0, None, closed="left")],
    "loss": [StrOptions(set(LOSSES))],
    "temperature": [Interval(Real, 0, None, closed="neither")],
    **{name: [Interval(Real, 0, None, closed="left"), tuple, list] for name in _WEIGHTS},
    "sentence_splitter": [callable, None],
    "max_sentences": [Interval(Integral, 1, None, closed="left")],
    "max_words": [Interval(Integral, 1, None, closed="left")],
    "max_epochs": [Interval(Integral, 0, None, closed="left")],
    "max_time": [Interval(Real, 0, None, closed="neither"), None],
    "batch_size": [Interval(Integral, 1, None, closed="left")],
    "learning_rate": [Interval(Real, 0, None, closed="neither")],
    "monitor": [callable, None],
    "log_every": [Interval(Integral, 1, None, closed="left"), None],
    "checkpoint_dir": [str, PathLike, None],
    "checkpoint_every": [Interval(Real, 0, None, closed="left")],
    "resume": ["boolean"],
    "n_jobs": [Integral, None],
    "device": [StrOptions({"cpu", "cuda", "auto"})],
    "callbacks": [list, None],
    "random_state": ["random_state"],
    "verbose": [Interval(Integral, 0, 2, closed="both")],
}
"""What they must be together, :func:`check_sentence_parameters` tells."""


def check_sentence_parameters(estimator: Any) -> None:
    """Check what a sentence encoder's parameters say together."""
    name = type(estimator).__name__
    check_callbacks(estimator)
    weighs_anything = False
    for parameter in _WEIGHTS:
        weight = getattr(estimator, parameter)
        parts = both_ends(weight)
        if len(parts) != 2 or not all(isinstance(part, Real) and 0 <= float(part) < math.inf for part in parts):
            raise ValueError(
                f"The {parameter!r} parameter of {name} must be a number, or (first, last), two numbers of at least 0. "
                f"Got {weight!r} instead."
            )
        weighs_anything |= any(parts)
    if not weighs_anything:
        raise ValueError(
            f"{name} needs a head: one of {', '.join(_WEIGHTS)} must be more than 0. To leave the second stage "
            "out, set max_epochs=0."
        )
    pair = estimator.ngram_range
    if len(pair) != 2 or not all(isinstance(n, Integral) for n in pair) or not 1 <= pair[0] <= pair[1]:
        raise ValueError(
            f"The 'ngram_range' parameter of {name} must be a pair (min_n, max_n) of integers with "
            f"1 <= min_n <= max_n. Got {pair!r} instead."
        )
    if estimator.n_layers and estimator.width % estimator.n_heads:
        raise ValueError(
            f"The 'width' parameter of {name} must be a multiple of n_heads={estimator.n_heads}. Got "
            f"{estimator.width!r} instead."
        )
    if estimator.depths == 2 and estimator.n_layers < 2:
        raise ValueError(f"{name}(depths=2) needs n_layers of at least 2. Got n_layers={estimator.n_layers!r}.")
    if estimator.n_layers == 0 and any(both_ends(estimator.masked_weight)):
        raise ValueError(
            f"{name}(masked_weight={estimator.masked_weight!r}) guesses hidden words from those around them, which "
            "nobody reads without layers. Set n_layers to 1 or more."
        )
    n_features, n_pointing = estimator.n_projections * estimator.n_bits, estimator.n_tables * estimator.table_bits
    if n_pointing > n_features:
        raise ValueError(
            f"{name}(n_tables={estimator.n_tables}, table_bits={estimator.table_bits}) needs projections of "
            f"{n_pointing} columns or more, and n_projections * n_bits is {n_features}. Take fewer or smaller tables."
        )
    if estimator.context_share < 1 and estimator.n_common >= estimator.spelling_width:
        raise ValueError(
            f"The 'n_common' parameter of {name} must be less than spelling_width={estimator.spelling_width}. Got "
            f"{estimator.n_common!r} instead."
        )
    if estimator.resume and estimator.checkpoint_dir is None:
        raise ValueError(f"{name}(resume=True) needs checkpoint_dir, the folder of the training to go on with.")
