from sklearn_hashnlp.persistence._load_model import load_model
from sklearn_hashnlp.persistence._model_folder import save_model
from sklearn_hashnlp.persistence._values import ModelFormatError
from sklearn_hashnlp.persistence._word_vectors import load_word_vectors, save_word_vectors

__all__ = [
    "ModelFormatError",
    "load_model",
    "load_word_vectors",
    "save_model",
    "save_word_vectors",
]
