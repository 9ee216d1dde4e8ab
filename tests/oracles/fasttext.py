"""fastText's supervised models, written to files, read and evaluated one number after the other."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass, field, replace
from io import BytesIO

import numpy as np

LOSSES = {"hs": 1, "ns": 2, "softmax": 3, "ova": 4}
BLANKS = b" \n\r\t\v\f\0"


@dataclass
class Quantizer:
    """Codes of rows: a centroid for each part of a row, and one for its norm."""

    codes: list[list[int]]
    centroids: list[list[list[float]]]  # of each part 256
    norms: list[float] | None = None  # of each row

    def rows(self) -> np.ndarray:
        """Compute the matrix."""
        rows = [
            [x for part, code in zip(self.centroids, codes, strict=True) for x in part[code]]
            for codes in self.codes
        ]
        norms = self.norms or [1.0] * len(rows)
        return np.array([[x * norm for x in row] for row, norm in zip(rows, norms, strict=True)])


@dataclass
class Model:
    """All that stands in a file."""

    words: list[bytes]
    labels: list[bytes]
    inputs: np.ndarray | Quantizer
    output: np.ndarray | Quantizer
    loss: str = "softmax"
    model: int = 3
    word_ngrams: int = 1
    bucket: int = 0
    min_n: int = 0
    max_n: int = 0
    pruned: dict[int, int] | None = None
    counts: list[int] = field(default_factory=list)  # of labels
    version: int = 12

    def __post_init__(self) -> None:
        self.counts = self.counts or [10 * (len(self.labels) - i) for i in range(len(self.labels))]


def dense(matrix: np.ndarray | Quantizer) -> np.ndarray:
    return matrix.rows() if isinstance(matrix, Quantizer) else matrix


def write(model: Model) -> bytes:
    """Return the content of a file."""
    file = BytesIO()
    dim = dense(model.output).shape[1]
    file.write(struct.pack("<ii", 793712314, model.version))
    arguments = (dim, 5, 5, 1, 5, model.word_ngrams, LOSSES[model.loss], model.model, model.bucket)
    file.write(struct.pack("<12id", *arguments, model.min_n, model.max_n, 100, 1e-4))
    n_pruned = -1 if model.pruned is None else len(model.pruned)
    n_words, n_labels = len(model.words), len(model.labels)
    file.write(struct.pack("<iiiqq", n_words + n_labels, n_words, n_labels, 99, n_pruned))
    for word in model.words:
        file.write(word + b"\0" + struct.pack("<qb", 7, 0))
    for label, count in zip(model.labels, model.counts, strict=True):
        file.write(b"__label__" + label + b"\0" + struct.pack("<qb", count, 1))
    for pair in (model.pruned or {}).items():
        file.write(struct.pack("<ii", *pair))
    for matrix in (model.inputs, model.output):
        file.write(struct.pack("<?", isinstance(matrix, Quantizer)))
        _write_matrix(file, matrix)
    return file.getvalue()


def _write_matrix(file: BytesIO, matrix: np.ndarray | Quantizer) -> None:
    shape = dense(matrix).shape
    if not isinstance(matrix, Quantizer):
        file.write(struct.pack("<qq", *shape) + matrix.astype("<f4").tobytes())
        return
    codes = [code for row in matrix.codes for code in row]
    file.write(struct.pack("<?qqi", matrix.norms is not None, *shape, len(codes)) + bytes(codes))
    _write_centroids(file, matrix.centroids)
    if matrix.norms is not None:
        known = sorted(set(matrix.norms))
        file.write(bytes(known.index(norm) for norm in matrix.norms))
        _write_centroids(file, [[[norm] for norm in known + [0.0] * (256 - len(known))]])


def _write_centroids(file: BytesIO, centroids: list[list[list[float]]]) -> None:
    widths = [len(part[0]) for part in centroids]
    file.write(struct.pack("<4i", sum(widths), len(widths), widths[0], widths[-1]))
    for part in centroids:
        for centroid in part:
            file.write(struct.pack(f"<{len(centroid)}f", *centroid))


def fnv(data: bytes) -> int:
    """FNV-1a of 32 bits, except that bytes count as signed."""
    state = 2166136261
    for byte in data:
        signed = byte - 256 if byte > 127 else byte
        state = ((state ^ (signed % 2**32)) * 16777619) % 2**32
    return state


def tokens(text: str) -> list[bytes]:
    """Return the tokens of a line, which ends with its end or with ``</s>``."""
    words: list[bytes] = []
    for word in text.encode().replace(b"\0", b" ").split():
        if word == b"</s>":
            break
        words.append(word)
    return [*words, b"</s>"]


def row_of_bucket(model: Model, bucket: int) -> list[int]:
    if model.pruned is not None:
        return [len(model.words) + model.pruned[bucket]] if bucket in model.pruned else []
    return [len(model.words) + bucket]


def subwords(model: Model, word: bytes) -> list[int]:
    """Return the rows of the character n-grams of a word."""
    characters = list(f"<{word.decode()}>")
    rows = []
    for start in range(len(characters)):
        for n in range(1, model.max_n + 1):
            ngram = characters[start : start + n]
            is_edge = n == 1 and start in (0, len(characters) - 1)
            if len(ngram) == n >= model.min_n and not is_edge:
                rows += row_of_bucket(model, fnv("".join(ngram).encode()) % model.bucket)
    return rows


def rows_of_text(model: Model, text: str) -> list[int]:
    """Return the rows of the input matrix that a text selects, in fastText's order."""
    if model.version == 11:
        model = replace(model, version=12, max_n=0)
    rows: list[int] = []
    hashes: list[int] = []
    for token in tokens(text):
        if token not in model.words and token.startswith(b"__label__"):
            continue
        state = fnv(token)
        hashes.append(state - 2**32 if state >= 2**31 else state)
        if token in model.words:
            rows.append(model.words.index(token))
        if token != b"</s>":
            rows += subwords(model, token)
    for first in range(len(hashes)):
        state = hashes[first] % 2**64
        for last in range(first + 1, min(len(hashes), first + model.word_ngrams)):
            state = (state * 116049371 + hashes[last]) % 2**64
            rows += row_of_bucket(model, state % model.bucket)
    return rows


def vector(model: Model, text: str) -> np.ndarray:
    """Return the mean of the rows of a text."""
    rows = dense(model.inputs)[rows_of_text(model, text)]
    return rows.mean(axis=0) if len(rows) else np.zeros(rows.shape[1])


def probabilities(model: Model, text: str) -> list[float]:
    """Return the probability of each label of the file."""
    scores = dense(model.output) @ vector(model, text)
    if model.loss == "softmax":
        exponentials = [math.exp(score - max(scores)) for score in scores]
        return [x / sum(exponentials) for x in exponentials]
    if model.loss == "hs":
        return _leaves(_tree(model.counts), scores, 1.0)
    return [_table(score) for score in scores]


def _table(score: float) -> float:
    """Return the sigmoid of a score from a table with steps of 1/32."""
    if abs(score) > 8:
        return float(score > 0)
    step = math.floor((score + 8) * 32)
    return 1 / (1 + math.exp(8 - step / 32))


def _tree(counts: list[int]) -> tuple:
    """Join the two nodes of the smallest counts: ``(count, left, right, row)``, or of a leaf
    ``(count, label)``.
    """
    leaves = [(count, label) for label, count in enumerate(counts)]
    nodes: list[tuple] = []
    n_joined = 0
    for row in range(len(counts) - 1):
        pair = []
        for _ in range(2):
            waiting = nodes[n_joined:]
            if leaves and (not waiting or leaves[-1][0] < waiting[0][0]):
                pair.append(leaves.pop())
            else:
                pair.append(waiting[0])
                n_joined += 1
        nodes.append((pair[0][0] + pair[1][0], *pair, row))
    return nodes[-1] if nodes else leaves[0]


def _leaves(node: tuple, scores: np.ndarray, share: float) -> list[float]:
    found: dict[int, float] = {}

    def visit(node: tuple, share: float) -> None:
        if len(node) == 2:
            found[node[1]] = share
            return
        right = 1 / (1 + math.exp(-scores[node[3]]))
        visit(node[1], share * (1 - right))
        visit(node[2], share * right)

    visit(node, share)
    return [found[label] for label in sorted(found)]
