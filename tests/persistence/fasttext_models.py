"""Random models of fastText, as its files hold them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tests.oracles.fasttext import Model, Quantizer, rows_of_text, write

DATA = Path(__file__).parent / "data" / "fasttext"
WORDS = [
    b"</s>",
    b"the",
    b"sauce",
    b"crepe",
    "crêpe".encode(),
    "日本".encode(),
    b"of",
    b"<b>",
    b"a",
]
LABELS = [b"cooking", b"baking", b"tea", b"equipment", "caf\xe9".encode()]
TEXTS = [
    *(
        "the sauce of the crêpe",
        "a crêpe",
        "日本 日本語 tea",
        "",
        "   ",
        "unknown words only",
        "the\tsauce\vof\fa\rb\0c",
    ),
    *(
        "the\nsauce",
        "the </s> sauce",
        "</s>",
        "the </s>sauce",
        "__label__tea sauce",
        "__label__none the",
        "🙂 ñandú",
    ),
    *("a" * 40, "<b> >b< __label", "é", "\x85the\xa0sauce\u3000of"),
]


def random_model(
    seed: int = 0, *, quantized: str = "", n_labels: int = 5, dim: int = 5, **options: Any
) -> Model:
    """Return a model whose matrices have as many rows as it needs.

    ``quantized`` has the letters i for the input matrix, o for the output matrix, n for norms.
    """
    rng = np.random.default_rng(seed)
    model = Model(list(WORDS), LABELS[:n_labels], np.empty((0, dim)), np.empty((0, dim)), **options)
    hashes = model.word_ngrams > 1 or model.max_n > 0
    n_buckets = model.bucket if model.pruned is None else len(model.pruned)
    n_rows = len(WORDS) + (n_buckets if hashes else 0)
    model.inputs, model.output = (
        _quantizer(rng, n, dim, "n" in quantized)
        if letter in quantized
        else rng.normal(size=(n, dim)).astype("f4")
        for letter, n in (("i", n_rows), ("o", n_labels))
    )
    return model


def kept_buckets(bucket: int, **options: Any) -> dict[int, int]:
    """Return the index of a model that was pruned to half of the buckets of some texts, in another
    order.
    """
    whole = random_model(bucket=bucket, **options)
    used = {
        row - len(WORDS) for text in TEXTS for row in rows_of_text(whole, text) if row >= len(WORDS)
    }
    kept = sorted(used)[::2]
    return dict(zip(kept, range(len(kept))[::-1], strict=True))


def _quantizer(rng: np.random.Generator, n_rows: int, dim: int, norms: bool) -> Quantizer:
    widths = [2] * (dim // 2) + [1] * (dim % 2)
    centroids = [rng.normal(size=(256, width)).astype("f4").tolist() for width in widths]
    codes = rng.integers(0, 256, (n_rows, len(widths))).tolist()
    known = rng.uniform(0.5, 2, 7).astype("f4")
    return Quantizer(
        codes, centroids, known[rng.integers(0, 7, n_rows)].tolist() if norms else None
    )


def save(model: Model, path: Path) -> Path:
    """Write a model to a file."""
    path.write_bytes(write(model))
    return path
