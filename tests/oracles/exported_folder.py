"""A reader of exported folders in plain Python, but for the bytes of arrays; by
docs/exported_format.md alone.
"""

import itertools
import json
import math
import re
import statistics
import unicodedata
from collections import Counter

import numpy as np
from sklearn.utils import murmurhash3_32

from . import ngram_encoder
from .hashing import hash_slot, splitmix64


def ngrams_of(text, options):
    """Return the n-grams of a text: steps 1 and 2."""
    begin, end = options["around"]
    text = begin + (text.lower() if options["lowercase"] else text) + end
    if options["strip_accents"]:
        text = unicodedata.normalize("NFKD", text)
        is_ascii = options["strip_accents"] == "ascii"
        text = "".join(
            c for c in text if (ord(c) < 128 if is_ascii else not unicodedata.combining(c))
        )
    low, high = options["ngram_range"]
    units, joint = [re.sub(r"\s\s+", " ", text)], ""
    if options["analyzer"] == "word":
        units, joint = (
            [
                [
                    t
                    for t in re.findall(options["token_pattern"], text)
                    if t not in options["stop_words"]
                ]
            ],
            " ",
        )
    if options["analyzer"] == "char_wb":
        units = [f" {word} " for word in text.split()]
    ngrams = [
        joint.join(u[i : i + n])
        for u in units
        for n in range(low, high + 1)
        for i in range(len(u) - n + 1)
    ]
    return ngrams + [u for u in units if options["analyzer"] == "char_wb" and len(u) < low]


def character_fingerprint(ngram):
    """Return the fingerprint of an n-gram of characters."""
    state = 0
    for character in ngram:
        [state] = splitmix64(state ^ ngram_encoder.word_fingerprint(character), 1)
    return state


class ExportedFolder:
    """The model of an exported folder."""

    def __init__(self, folder):
        line, _, content = (folder / "weights.bin").read_bytes().partition(b"\n")
        self.header = json.loads(line)
        stored = {
            name: np.frombuffer(content, dtype, math.prod(shape), offset).reshape(shape).tolist()
            for name, dtype, shape, offset in self.header["arrays"]
        }
        self.bag = self.header["bag"]
        self.stored = stored
        self.tables = {}
        for name in ("pool", "importance"):
            values = stored.get(name, [])
            if scale := stored.get(f"{name}.scale"):
                values = [
                    [b / 127 * abs(b / 127) * s for b, s in zip(row, scale, strict=True)]
                    for row in values
                ]
            self.tables[name] = dict(
                zip(stored.get(f"{name}.rows", range(len(values))), values, strict=True)
            )
        self.dim = next(shape[1] for name, _, shape, _ in self.header["arrays"] if name == "pool")
        self.k = 1 if self.bag["variant"] == "standard" else len(self.bag["constants"]) - 1

    def columns(self, text):
        """Return the values of columns: steps 3 and 4."""
        columns, first = {}, 0
        for options in self.header["vectorizers"]:
            values = Counter()
            for ngram in ngrams_of(text, options):
                h = murmurhash3_32(ngram.encode(), seed=0)
                values[first + abs(h) % options["n_features"]] += (
                    -1 if options["alternate_sign"] and h < 0 else 1
                )
            if options["binary"]:
                values = dict.fromkeys(values, 1)
            size = math.sqrt(sum(x * x for x in values.values()))
            if options["norm"] is not None and size:
                size = size if options["norm"] == "l2" else sum(map(abs, values.values()))
                values = {column: x / size for column, x in values.items()}
            for column, x in values.items():
                value = 1 + math.log(x) if options["damped"] else x
                columns[column] = value * options["weight"]
            first += options["n_features"] + options["padding"]
        length = math.sqrt(sum(x * x for x in columns.values()))
        for number, options in enumerate(self.header.get("encoders", [])):
            for value in self.vector(text, f"encoders.{number}", options):
                columns[first] = self.header["vector_weight"] * length * value
                first += 1
        return columns

    def coefficients(self, name, row):
        """Return a row of the coefficients of an encoder."""
        values = self.stored[f"{name}.coefficients"][row]
        dtype = next(
            layout[1] for layout in self.header["arrays"] if layout[0] == f"{name}.coefficients"
        )
        scale = self.stored.get(f"{name}.coefficients.scale")
        if dtype == "|i1":
            return [b / 127 * abs(b / 127) * s for b, s in zip(values, scale, strict=True)]
        if dtype == "|u1":
            n_columns = len(self.stored[f"{name}.mean"])
            codes = [b % 16 for b in values] + [b // 16 for b in values]
            return [(code - 8) * scale[row] for code in codes[:n_columns]]
        return values

    def vector(self, text, name, options):
        """Return the unit vector of a text by an encoder."""
        rows = {hash_: row for row, hash_ in enumerate(self.stored[f"{name}.fingerprints"])}
        weights = self.stored[f"{name}.weights"]
        entries = {
            hash_: ngram_encoder.Entry(weights[row], np.array(self.coefficients(name, row)))
            for hash_, row in rows.items()
        }
        low, high = options["ngram_range"]
        assert (low, high) == (3, 5)  # those of the oracle
        words = ngram_encoder.tokens(text, options["max_words"])
        grams = {gram for word in words for gram in ngram_encoder.character_ngrams(word)}
        known = {
            "words": {word: ngram_encoder.word_fingerprint(word) for word in words},
            "characters": {gram: character_fingerprint(gram) for gram in grams},
            "pairs": {
                pair: ngram_encoder.pair_fingerprint(*pair) for pair in itertools.pairwise(words)
            },
        }
        found = {
            kind: {ngram: entries[hash_] for ngram, hash_ in hashes.items() if hash_ in entries}
            for kind, hashes in known.items()
        }
        numbers = ("unknown_weight", "character_weight", "norm_power", "max_words")
        return ngram_encoder.vector(
            text,
            **found,
            mean=np.array(self.stored[f"{name}.mean"]),
            **{number: options[number] for number in numbers},
        ).tolist()

    def lookup(self, column):
        """Return the importance weights and the vectors of a column: step 5."""
        first, *others = ((a, b, 0) for a, b in self.bag["constants"])
        row = (
            hash_slot(column, first, self.bag["num_embeddings"])
            if self.bag["hash_rows"]
            else column
        )
        key = row if self.bag["variant"] == "paper" else column
        slots = [hash_slot(key, pair, self.bag["num_buckets"]) for pair in others]
        importance = self.tables["importance"].get(row, [self.bag["importance_init"]] * self.k)
        if self.bag["variant"] == "standard":
            importance, slots = [1], [row]
        return importance, [self.tables["pool"].get(i, [0.0] * self.dim) for i in slots]

    def scores(self, text):
        """Return the scores of a text: steps 6 to 8."""
        found = [(x, *self.lookup(column)) for column, x in self.columns(text).items()]
        scaled = [
            [[x * p * v for v in vs] for p, vs in zip(ps, vectors, strict=True)]
            for x, ps, vectors in found
        ]
        kind = "sum" if self.bag["variant"] == "standard" else self.bag["aggregation"]
        of_hashes = [
            [sum(one[i][j] for one in scaled) for j in range(self.dim)] for i in range(self.k)
        ]
        vector = [sum(values) for values in zip(*of_hashes, strict=True)]
        if kind == "concat":
            vector = [value for values in of_hashes for value in values]
        if kind == "median":
            vector = [
                sum(statistics.median(vs[j] for vs in one) for one in scaled)
                for j in range(self.dim)
            ]
        if self.bag["append_weight"] and self.bag["variant"] != "standard":
            vector += [sum(x * ps[i] for x, ps, _ in found) for i in range(self.k)]
        weights = [x * p for x, ps, _ in found for p in ps]
        length = {
            "l1": sum(map(abs, weights)) / self.k,
            "l2": math.sqrt(sum(w * w for w in weights) / self.k),
        }
        vector = [value / (length.get(self.bag["normalize"], 1) or 1) for value in vector]
        layer = zip(self.stored["weight"], self.stored["bias"], strict=True)
        scores = [
            sum(w * value for w, value in zip(row, vector, strict=True)) + bias
            for row, bias in layer
        ]
        g, prior = self.share_of_scores(found), self.stored.get("prior", scores)
        return [g * score + (1 - g) * usual for score, usual in zip(scores, prior, strict=True)]

    def square(self, found):
        """Return the sum of the squared weights of known columns: step 8."""
        all_known = self.bag["append_weight"] and self.bag["variant"] != "standard"
        pairs = [(x * p, v) for x, ps, vectors in found for p, v in zip(ps, vectors, strict=True)]
        return sum(w * w for w, v in pairs if all_known or any(v[:4])) / self.k

    def share_of_scores(self, found):
        """Return how much of the scores remains: step 8."""
        if "half" not in self.header:
            return 1.0
        common = zip(self.stored["common_columns"], self.stored["common_values"], strict=True)
        base, half = (
            self.square([(x, *self.lookup(column)) for column, x in common]),
            self.header["half"],
        )
        rest = self.square(found) - base
        if rest <= 1e-9 * base:
            return 0.0
        return rest**1.5 / (rest**1.5 + half**3)

    def predict(self, text):
        """Return the label or labels of a text, and the probabilities of all labels: step 9."""
        labels = self.header["labels"]["values"]
        t = self.header["inverse_temperature"]
        scores = self.scores(text)
        if self.header["multilabel"]:
            predicted = [label for label, score in zip(labels, scores, strict=True) if score > 0]
            return predicted, [1 / (1 + math.exp(-t * score)) for score in scores]
        logits = (
            scores
            if self.header["link"] == "identity"
            else [-math.log1p(math.exp(-score)) for score in scores]
        )
        odds = [math.exp(t * (logit - max(logits))) for logit in logits]
        return labels[scores.index(max(scores))], [one / sum(odds) for one in odds]
