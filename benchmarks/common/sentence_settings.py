"""What the sentence encoders of the benchmark are: the small one, the report's, and the small one with changes."""

from __future__ import annotations

from typing import Any

SMALL: dict[str, Any] = {}  # the estimator's defaults: within an hour on two cores

# Where the small encoder stands before its first step, and before the first sentence.
UNTRAINED: dict[str, Any] = {"word_steps": 0, "n_common": 0, "max_epochs": 0}
ENCODERS: dict[str, dict[str, Any]] = {
    "untrained encoder": SMALL | UNTRAINED,
    "encoder after its words": SMALL | {"max_epochs": 0},
    "trained encoder": SMALL,
}

# The network of the source's second part, trained as it was.
REPORT: dict[str, Any] = {
    "ngram_range": (1, 3),
    "context_share": 1.0,
    "width": 512,
    "n_layers": 6,
    "feedforward_size": 2048,
    "pooling": "max",
    "n_tables": 0,
    "start": "random",
    "word_steps": 0,
    "loss": "bxent",
    "learning_rate": 5e-4,
}

# The small encoder with these settings instead of its own.
ABLATIONS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "loss: BXENT": {"loss": "bxent"},
    "loss: cosine proximity": {"loss": "proximity"},
    "loss: von Mises-Fisher": {"loss": "vmf"},
    "head: words alone": {"sentence_weight": 0.0, "word_weight": 1.0},
    "1 layer, head: masked words alone": {
        "n_layers": 1,
        "learning_rate": 5e-4,
        "sentence_weight": 0.0,
        "masked_weight": 1.0,
    },
    "heads: words, fading, and sentences": {"word_weight": (1.0, 0.0)},
    "1 layer, heads: masked words, fading, and sentences": {
        "n_layers": 1,
        "learning_rate": 5e-4,
        "masked_weight": (1.0, 0.0),
    },
    "pooling: mean": {"pooling": "mean"},
    "pooling: max": {"pooling": "max"},
    "pooling: attention": {"pooling": "attention"},
    "pooling: 2,000 wide": {"pooling_width": 2000},
    "1 layer": {"n_layers": 1, "learning_rate": 5e-4},
    "2 layers": {"n_layers": 2, "learning_rate": 5e-4},
    "2 layers, both depths": {"n_layers": 2, "depths": 2, "learning_rate": 5e-4},
    "1 layer, no positions": {"n_layers": 1, "learning_rate": 5e-4, "positions": False},
    "1 layer, random start": {"n_layers": 1, "learning_rate": 5e-4, "start": "random"},
    "width 256": {"width": 256},
    "width 768": {"width": 768},
    "40 projections": {"n_projections": 40},
    "160 projections": {"n_projections": 160},
    "no tables": {"n_tables": 0},
    "no word stage": {"word_steps": 0},
    "nothing common taken off": {"n_common": 0},
    "context counts 0.2": {"context_share": 0.2},
    "context counts 0.5": {"context_share": 0.5},
    "context alone": {"context_share": 1.0},
}
