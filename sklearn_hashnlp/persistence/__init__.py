"""Model folders that are written atomically and loaded without running code from them."""

from sklearn_hashnlp.persistence._model_folder import load_model, save_model
from sklearn_hashnlp.persistence._values import ModelFormatError

__all__ = ["ModelFormatError", "load_model", "save_model"]
