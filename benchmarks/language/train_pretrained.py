r"""Train the English sentence encoder that comes with the package, from vectors of a Transformer.

The teacher encodes sentences of Wikipedia, windows of 4 to 12 of their words, single words, and
questions made of words; its vectors are kept in the folder --teacher-vectors, and only missing ones
are computed, for which its package is installed. No labeled text is read. From the same vectors,
with the same versions of the packages and the same processor, the files are the same bit for bit:
weights.safetensors, parameters.json, and provenance.json with versions, counts, digests of the
texts and vectors, and scores.

The n-grams are chosen in two steps: of the most frequent ones, those of which the coefficients of a
first fit explain most; the second fit has these alone.

    python -m benchmarks run train-pretrained --data DIR --teacher-vectors FOLDER
    # A test run
    python -m benchmarks run train-pretrained --data DIR --teacher-vectors FOLDER --rows 300 \
        --output DIR
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sklearn_hashnlp.sentences
from benchmarks.common.benchmark import BenchmarkParser, environment
from benchmarks.language import sentence_tasks, sentence_teacher
from sklearn_hashnlp import load_model, save_model
from sklearn_hashnlp.sentences import DistilledSentenceEncoder
from sklearn_hashnlp.sentences._distilled_sentence_encoder import center
from sklearn_hashnlp.sentences._ngram_regression import NgramDictionary, ridge_regression
from sklearn_hashnlp.sentences._ngram_vectors import NgramModel
from sklearn_hashnlp.sentences._sentence_reader import read_texts

VERSION = "1"
N_NGRAMS = 28_672  # 6 MB with 4 bits for each of 384 coefficients
N_CANDIDATES, FIRST_STEPS, STEPS = 2**18, 8, 30
LIMITS = {"sentences": 100_000}  # in a random order; of other texts all
ALPHA = 3.0
MAX_WORDS = 10**9  # whole texts
THREADS = 2
FOLDER = Path(sklearn_hashnlp.sentences.__file__).parent / "english"
CONTENT = "wikipedia/paragraphs.txt and stsb/dev.csv"
PACKAGES = ("sklearn-hashnlp", "numpy", "scikit-learn", "scipy", "torch")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = BenchmarkParser(__doc__, "english", CONTENT)
    parser.add_argument(
        "--teacher-vectors", type=Path, help="folder of the teacher's vectors (default: not kept)"
    )
    parser.add_argument(
        "--package", type=Path, help="folder to install the teacher in (default: not kept)"
    )
    options = parser.parse_args(arguments)
    data = parser.data_of(options)
    if options.rows is not None and options.output is None:
        parser.error("--rows needs --output: a test run does not replace the encoder")
    folder = FOLDER if options.output is None else options.output
    with tempfile.TemporaryDirectory() as spare:
        stored = Path(spare) if options.teacher_vectors is None else options.teacher_vectors
        limits = (
            LIMITS
            if options.rows is None
            else dict.fromkeys(sentence_teacher.LEARNED, options.rows)
        )
        vectors = sentence_teacher.TeacherVectors(stored, data, options.package, limits)
        texts, targets = vectors.training()
        encoder = fitted(texts, targets)
        save_model(encoder, Path(spare) / "encoder", precision="int4")
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("weights.safetensors", "parameters.json"):  # MODEL_CARD.md is written by hand
            shutil.copyfile(Path(spare) / "encoder" / name, folder / name)
    pairs = sentence_tasks.read_pairs(data)
    provenance = {
        "version": VERSION,
        "sha256": digest((folder / "weights.safetensors").read_bytes()),
        "teacher": {
            "package": sentence_teacher.PEER.distribution,
            "licenses": sentence_teacher.LICENSES,
        },
        "texts": {kind: vectors.n_learned(kind) for kind in sentence_teacher.LEARNED},
        "sha256 of the texts": digest("\n".join(texts).encode()),
        "sha256 of the vectors": digest(np.ascontiguousarray(targets).tobytes()),
        "settings": {
            "n-grams": len(encoder.coef_),
            "candidates": N_CANDIDATES,
            "components": encoder.coef_.shape[1],
            "alpha": ALPHA,
            "steps": [FIRST_STEPS, STEPS],
            "bits": 4,
            "seed": "none: nothing is random",
        },
        "scores": {
            "STS benchmark, dev, Spearman x 100": sentence_tasks.correlations(
                load_model(folder), pairs
            )
        },
    } | {name: value for name, value in environment(*PACKAGES).items() if name != "commit"}
    written = json.dumps(provenance, indent=2) + "\n"
    (folder / "provenance.json").write_text(written, encoding="utf-8")
    print(written)


def fitted(texts: list[str], targets: NDArray[np.float32]) -> DistilledSentenceEncoder:
    """Fit an encoder with the n-grams that explain most."""
    encoder = DistilledSentenceEncoder(n_features=N_NGRAMS, alpha=ALPHA, max_words=MAX_WORDS)
    words, rows = read_texts(texts, max_words=encoder.max_words, caller="train-pretrained")
    columns, mean = center(targets, encoder.n_components)
    candidates = NgramDictionary.learn(words, rows, N_CANDIDATES)
    design = candidates.design(words, rows)
    how: dict[str, Any] = {"n_threads": THREADS}
    coefficients, _ = ridge_regression(design, columns, ALPHA, n_steps=FIRST_STEPS, **how)
    matrix = (design.outer @ design.inner + design.direct).tocsr()
    squares = np.bincount(matrix.indices, matrix.data.astype(np.float64) ** 2, len(coefficients))
    explained = squares * np.square(coefficients, dtype=np.float64).sum(axis=1)
    best = np.sort(np.argsort(-explained, kind="stable")[:N_NGRAMS])
    dictionary = subset(candidates, best)
    coefficients, losses = ridge_regression(
        dictionary.design(words, rows), columns, ALPHA, n_steps=STEPS, **how
    )
    shares = enumerate((losses[1:] / losses[0]).tolist(), 1)
    encoder._set(
        NgramModel(dictionary, coefficients, mean),
        [{"epoch": step, "train_loss": share} for step, share in shares],
    )
    return encoder


def subset(dictionary: NgramDictionary, keep: NDArray[np.int64]) -> NgramDictionary:
    """Return the dictionary of some n-grams, given their indices, ascending."""
    ends = np.cumsum((0, *dictionary.sizes))
    n_words, n_ngrams, n_pairs = np.diff(np.searchsorted(keep, ends)).tolist()
    return NgramDictionary(
        dictionary.fingerprints[keep],
        dictionary.counts[keep],
        (n_words, n_ngrams, n_pairs),
        dictionary.n_texts,
    )


def digest(content: bytes) -> str:
    """Return the SHA-256 of bytes."""
    return hashlib.sha256(content).hexdigest()
