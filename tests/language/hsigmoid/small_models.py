"""Small language models, all alike but for the options of a test."""

from __future__ import annotations

import numpy as np

from sklearn_hashnlp.language import HsigmoidLanguageModel, LanguageSchedule, Regularization

RNG = np.random.default_rng(0)
NAMES = ["ann", "bob"]
VERBS = ["sees", "hears"]
THINGS = ["trees", "birds", "songs"]
GRAMMAR = [f"{RNG.choice(NAMES)} {RNG.choice(VERBS)} {RNG.choice(THINGS)}" for _ in range(80)]

RNG = np.random.default_rng(1)
SENTENCES = [
    " ".join(RNG.choice(list("abcdefgh"), size=RNG.integers(1, 7)).tolist()) for _ in range(40)
]
VALID = [" ".join(RNG.choice(list("abcdefghi"), size=4).tolist()) for _ in range(12)]

SMALL = {
    "order": 3,
    "embedding_dim": 6,
    "hidden_size": 12,
    "batch_size": 32,
    "max_epochs": 3,
    "random_state": 0,
} | {"learning_rate": 0.5}
# Every kind of network and optimizer
VARIED = [
    {"optimizer": "sgd", "regularization__weight_decay": 1e-3},
    {"output": "softmax", "regularization__dropout": 0.3, "regularization__embedding_dropout": 0.3},
    {"output": "adaptive", "optimizer": "adam", "learning_rate": 0.01},
    {"optimizer": "adam", "learning_rate": 0.01, "direct_connections": ("hashed", 99)}
    | {"embedding": ("hash", 200, 50), "tree": "random"},
    {"embedding": ("sgnn", 20, 14), "tree": "learned"},
    {"output": "tied_softmax", "regularization__dropout": 0.3},
    {"embedding": ("ngrams", 500), "far_context": 3, "direct_connections": "hashed"},
    {"hidden_layer": "residual", "far_context": 5, "across_sentences": True, "learning_rate": 0.1}
    | {"regularization__dropout": 0.3, "regularization__word_dropout": 0.3},
    {
        "schedule__decay": "linear",
        "schedule__warmup_steps": 100,
        "schedule__bias_learning_rate": 2.0,
    }
    | {"init": "reference", "direct_connections": ("hashed", 500), "tree": "cluster"},
]


def make(**options):
    """Make a model with a constant learning rate and without dropout; options are parameters, also
    nested ones.
    """
    schedule, regularization = (
        LanguageSchedule("constant", 0),
        Regularization(dropout=0.0, embedding_dropout=0.0),
    )
    return HsigmoidLanguageModel(
        **SMALL, schedule=schedule, regularization=regularization
    ).set_params(**options)


def fitted(X=GRAMMAR, **options):
    """Fit long enough to learn the grammar."""
    return make(**{"max_epochs": 6, "batch_size": 16, **options}).fit(X)


def bytes_of(model):
    return model.score_samples(VALID).tobytes()


def losses(model, name="train_loss"):
    return [entry[name] for entry in model.history_]
