from sklearn_hashnlp.persistence._fasttext_model import FastTextModel, load_fasttext
from sklearn_hashnlp.persistence._model_folder import load_model, save_model
from sklearn_hashnlp.persistence._values import ModelFormatError
from sklearn_hashnlp.persistence._word_vectors import load_word_vectors, save_word_vectors

__all__ = [
    "FastTextModel",
    "ModelFormatError",
    "load_fasttext",
    "load_model",
    "load_word_vectors",
    "save_model",
    "save_word_vectors",
]
