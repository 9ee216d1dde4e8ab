"""Models that are read from what was saved of them, after a change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn_hashnlp.persistence._model_document import decode_model, encode_model


def reread(
    model: Any,
    change: Callable[[dict[str, Any], dict[str, Any]], object] = lambda state, arrays: None,
) -> Any:
    """Return the copy of a model that is read after a function has changed its state and its
    arrays.
    """
    description, arrays = encode_model(model)
    change(description["state"], arrays)
    return decode_model(description, arrays)
