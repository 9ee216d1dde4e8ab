"""Constants of AutoNgramVectorizer, which exported predictors read without scikit-learn."""

from __future__ import annotations

from typing import Final

TOKENS: Final = r"\w+|[^\w\s]"
BEGIN: Final = "\x02 "  # control characters are tokens by themselves, which no text has
END: Final = " \x03"
CHARACTER_WEIGHT: Final = 0.5
