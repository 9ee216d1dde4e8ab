"""Numba kernels: arrays in, arrays out, no policy."""

from sklearn_hashnlp.kernels._hashes import murmur3
from sklearn_hashnlp.kernels._ragged import Ragged
from sklearn_hashnlp.kernels._rows import mean_rows
from sklearn_hashnlp.kernels.ngrams._count_ngrams import L1, L2, NO_NORM, Allocate, count_hashes
from sklearn_hashnlp.kernels.ngrams._fingerprints import (
    N_RANGES,
    count_runs,
    find_fingerprints,
    fingerprint_ngrams,
    fingerprint_slots,
    range_sizes,
    scatter_ranges,
)
from sklearn_hashnlp.kernels.ngrams._hash_ngrams import hash_ngrams, hash_skipgrams
from sklearn_hashnlp.kernels.projections._hyperplanes import PROJECTION_SPECIFICATION, Hyperplanes
from sklearn_hashnlp.kernels.projections._project_rows import ProjectionForm, project_rows
from sklearn_hashnlp.kernels.strings._join_lines import ascii_lengths, join_lines, object_array
from sklearn_hashnlp.kernels.strings._units import (
    Texts,
    Units,
    WordSet,
    character_units,
    word_character_units,
    word_units,
)

__all__ = [
    "L1",
    "L2",
    "NO_NORM",
    "N_RANGES",
    "PROJECTION_SPECIFICATION",
    "Allocate",
    "Hyperplanes",
    "ProjectionForm",
    "Ragged",
    "Texts",
    "Units",
    "WordSet",
    "ascii_lengths",
    "character_units",
    "count_hashes",
    "count_runs",
    "find_fingerprints",
    "fingerprint_ngrams",
    "fingerprint_slots",
    "hash_ngrams",
    "hash_skipgrams",
    "join_lines",
    "mean_rows",
    "murmur3",
    "object_array",
    "project_rows",
    "range_sizes",
    "scatter_ranges",
    "word_character_units",
    "word_units",
]
