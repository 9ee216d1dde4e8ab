"""Small language models, all alike but for the options of a test."""

from __future__ import annotations

import numpy as np

from sklearn_hashnlp.language import HsigmoidLanguageModel

RNG = np.random.default_rng(0)
NAMES, VERBS, THINGS = ["ann", "bob"], ["sees", "hears"], ["trees", "birds", "songs"]
GRAMMAR = [f"{RNG.choice(NAMES)} {RNG.choice(VERBS)} {RNG.choice(THINGS)}" for _ in range(120)]

RNG = np.random.default_rng(1)
SENTENCES = [" ".join(RNG.choice(list("abcdefgh"), size=RNG.integers(1, 7)).tolist()) for _ in range(60)]
VALID = [" ".join(RNG.choice(list("abcdefghi"), size=4).tolist()) for _ in range(20)]

SMALL = {"order": 3, "embedding_dim": 6, "hidden_size": 12, "batch_size": 16, "max_epochs": 3, "random_state": 0} | {
    "learning_rate_schedule": "constant",
    "warmup_steps": 0,
    "dropout": 0.0,
    "embedding_dropout": 0.0,
    "learning_rate": 0.5,
}
# Every kind of network and optimizer
VARIED = [
    {},
    {"output": "softmax", "dropout": 0.3, "embedding_dropout": 0.3},
    {"output": "adaptive", "optimizer": "adam", "learning_rate": 0.01},
    {"optimizer": "adam", "learning_rate": 0.01, "direct_connections": "hashed", "n_direct": 99},
    {"direct_connections": "hashed", "n_direct": 500, "tree": "cluster"},
    {"optimizer": "sgd", "learning_rate": 0.5, "weight_decay": 1e-3, "max_grad_norm": 0.5},
    {"embedding": "hash", "n_embeddings": 200, "n_buckets": 50, "tree": "random"},
    {"embedding": "sgnn", "n_projections": 20, "tree": "learned"},
    {"output": "softmax", "tie_weights": True, "dropout": 0.3},
    {"arch": "modern", "far_context": 5, "across_sentences": True, "dropout": 0.3, "learning_rate": 0.1}
    | {"word_dropout": 0.3},
    {"learning_rate_schedule": "linear", "warmup_steps": 100, "init": "reference", "bias_learning_rate": 2.0},
]


def make(**options):
    return HsigmoidLanguageModel(**SMALL | options)


def fitted(X=GRAMMAR, **options):
    """Fit long enough to learn the grammar."""
    return make(**{"max_epochs": 6, **options}).fit(X)


def bytes_of(model):
    return model.score_samples(VALID).tobytes()


def losses(model, name="train_loss"):
    return [entry[name] for entry in model.history_]
