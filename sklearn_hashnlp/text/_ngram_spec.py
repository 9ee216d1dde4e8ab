"""NgramSpec: the n-grams that a vectorizer counts, as plain values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from math import isfinite
from typing import Any, Final, Self

SCHEMES: Final = ("murmur3", "fasttext", "fingerprint", "dense")
ANALYZERS: Final = ("word", "char", "char_wb", "word_chars")
_MAX_COLUMNS = 2**31 - 1


@dataclass(frozen=True, kw_only=True)
class NgramSpec:
    """Specification of the n-grams that a vectorizer counts, as plain values for JSON.

    Parameters
    ----------
    n_features : int
        Number of columns of n-grams, at most 2**31 - 1.
    padding : int, default=0
        Number of empty columns after them.
    scheme : {"murmur3", "fasttext", "fingerprint", "dense"}, default="murmur3"
        How n-grams are mapped to columns: by MurmurHash3 as in scikit-learn. The others need arrays
        of their vectorizer: fastText's dictionary, a dictionary of 64-bit hashes, or the encoder of
        a block of dense columns.
    name : str, default=""
        Name of the part in a union.
    analyzer : {"word", "char", "char_wb", "word_chars"}, default="word"
        Units of the n-grams, as in scikit-learn; ``"word_chars"`` are characters of words between
        ``<`` and ``>``.
    token_pattern : str or None, default=None
        Regular expression of the words of ``"word"`` and ``"word_chars"``.
    lowercase : bool, default=False
        Whether to convert texts to lowercase.
    strip_accents : {"ascii", "unicode"} or None, default=None
        How to remove accents, as in scikit-learn.
    stop_words : tuple of str, default=()
        Words to remove.
    around : (str, str), default=("", "")
        Strings before and after each text.
    decode : (str, str) or None, default=("utf-8", "strict")
        Encoding of bytes and error handling; None does not accept bytes.
    ngram_range : (int, int), default=(1, 1)
        Minimum and maximum length of an n-gram.
    alternate_sign, binary : bool, default=False
        As in scikit-learn's ``HashingVectorizer``.
    norm : {"l1", "l2"} or None, default=None
        Norm of the rows.
    damped : bool, default=False
        Whether a count c has the value ``1 + log(c)``.
    weight : float, default=1.0
        Factor of all values.
    dtype : {"float32", "float64"}, default="float32"
        Type of the values.

    See Also
    --------
    AutoNgramVectorizer.ngram_specs : The specifications of a vectorizer.

    Examples
    --------
    >>> from sklearn_hashnlp.text._ngram_spec import NgramSpec
    >>> spec = NgramSpec(
    ...     n_features=2**20,
    ...     analyzer="char_wb",
    ...     ngram_range=(2, 4),
    ...     lowercase=True,
    ... )
    >>> NgramSpec.from_dict(spec.to_dict()) == spec
    True
    """

    n_features: int
    padding: int = 0
    scheme: str = "murmur3"
    name: str = ""
    analyzer: str = "word"
    token_pattern: str | None = None
    lowercase: bool = False
    strip_accents: str | None = None
    stop_words: tuple[str, ...] = ()
    around: tuple[str, str] = ("", "")
    decode: tuple[str, str] | None = ("utf-8", "strict")
    ngram_range: tuple[int, int] = (1, 1)
    alternate_sign: bool = False
    binary: bool = False
    norm: str | None = None
    damped: bool = False
    weight: float = 1.0
    dtype: str = "float32"

    def __post_init__(self) -> None:
        for name, (is_valid, wanted) in _CHECKS.items():
            value = getattr(self, name)
            if not is_valid(value):
                raise ValueError(
                    f"{name!r} of an n-gram specification must be {wanted}, got {value!r:.60}."
                )
        if (
            self.token_pattern is None
            and self.scheme == "murmur3"
            and self.analyzer in ("word", "word_chars")
        ):
            raise ValueError(
                f"An n-gram specification with analyzer={self.analyzer!r} must have a "
                "'token_pattern'."
            )
        if self.damped and (self.alternate_sign or self.norm is not None):
            raise ValueError(
                "An n-gram specification with 'damped' must have neither 'alternate_sign' nor "
                "'norm'."
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the values for JSON by their names, with lists instead of tuples."""
        values = {name: getattr(self, name) for name in _NAMES}
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in values.items()
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Build a specification from the result of ``to_dict``."""
        if not isinstance(values, Mapping) or set(values) != set(_NAMES):
            raise ValueError(
                f"An n-gram specification must have the values {', '.join(_NAMES)}, got "
                f"{values!r:.200}."
            )
        given: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in values.items()
        }
        return cls(**given)


@lru_cache(maxsize=64, typed=True)
def cached_spec(min_n: int, max_n: int, **values: Any) -> NgramSpec:
    """Return a specification; equal ones are only checked once."""
    return NgramSpec(ngram_range=(min_n, max_n), **values)


_NAMES: Final = tuple(field.name for field in fields(NgramSpec))


def _is_int(value: Any, least: int) -> bool:
    return type(value) is int and least <= value <= _MAX_COLUMNS


def _are(kind: type, value: Any, length: int | None = None) -> bool:
    is_long = isinstance(value, tuple) and (length is None or len(value) == length)
    return is_long and all(type(part) is kind for part in value)


def _one_of(*allowed: str | None) -> tuple[Callable[[Any], bool], str]:
    return lambda value: isinstance(value, str | None) and value in allowed, f"one of {allowed}"


_CHECKS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "n_features": (lambda value: _is_int(value, 1), "an integer from 1 to 2**31 - 1"),
    "padding": (lambda value: _is_int(value, 0), "an integer from 0 to 2**31 - 1"),
    "scheme": _one_of(*SCHEMES),
    "name": (lambda value: isinstance(value, str), "a str"),
    "analyzer": _one_of(*ANALYZERS),
    "token_pattern": (lambda value: isinstance(value, str | None), "a str or None"),
    "strip_accents": _one_of(None, "ascii", "unicode"),
    "stop_words": (lambda value: _are(str, value), "strings"),
    "around": (lambda value: _are(str, value, 2), "two strings"),
    "decode": (lambda value: value is None or _are(str, value, 2), "two strings or None"),
    "ngram_range": (
        lambda value: _are(int, value, 2) and 1 <= value[0] <= value[1],
        "integers 1 <= min_n <= max_n",
    ),
    "norm": _one_of(None, "l1", "l2"),
    "weight": (lambda value: type(value) is float and isfinite(value), "a finite float"),
    "dtype": _one_of("float32", "float64"),
    **dict.fromkeys(
        ("lowercase", "alternate_sign", "binary", "damped"),
        (lambda value: type(value) is bool, "a bool"),
    ),
}
