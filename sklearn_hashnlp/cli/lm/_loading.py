"""Loading of language models and sentences, and checks before."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sklearn_hashnlp.cli.lm._options import Search

if TYPE_CHECKING:
    from sklearn_hashnlp.language._base import BaseLanguageModel
    from sklearn_hashnlp.language._neural import NeuralLanguageModel

_ARPA_SUFFIXES = (".arpa", ".arpa.gz", ".arpa.bz2", ".arpa.xz", ".arpa.zip")


def check_sentences(path: Path) -> None:
    """Raise an error for a file without sentences, before torch is loaded."""
    from sklearn_hashnlp.datasets._lines import read_lines

    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; expected a text file with one sentence per line.")
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist.")
    if path.is_file() and not any(not line.isspace() for line in read_lines(path)):
        raise ValueError(f"{path} has no sentences; expected one per line, words separated by spaces.")


def sentence_reader(path: Path, *, lowercase: bool = False) -> Callable[[], Iterator[str]]:
    """Return a function that reads the sentences of a file, for every epoch anew."""
    from sklearn_hashnlp.datasets._lines import read_lines

    return lambda: (line.lower() if lowercase else line for line in read_lines(path) if not line.isspace())


def load_language_model(folder: Path) -> BaseLanguageModel:
    """Load a language model of any kind, or an ARPA file; raise an error for another model."""
    from sklearn_hashnlp.language._base import BaseLanguageModel
    from sklearn_hashnlp.persistence import load_model

    if folder.name.endswith(_ARPA_SUFFIXES) and not folder.is_dir():
        from sklearn_hashnlp.language import KneserNeyLanguageModel

        return KneserNeyLanguageModel.load_arpa(folder)
    try:
        model: Any = load_model(folder)
    except FileNotFoundError:
        epochs = _epochs_in(folder)
        if not epochs:
            raise
        message = f"{folder} is a checkpoint folder; use one of its epochs, such as {epochs[-1]}."
        raise FileNotFoundError(message) from None
    if not isinstance(model, BaseLanguageModel):
        raise ValueError(
            f"{folder} is a {type(model).__name__}, not a language model; expected a folder of hashnlp lm train."
        )
    return model


def load_network(folder: Path, purpose: str) -> NeuralLanguageModel:
    """Load a neural language model; raise an error for another model, with what needs word vectors."""
    from sklearn_hashnlp.language._neural import NeuralLanguageModel

    model = load_language_model(folder)
    if not isinstance(model, NeuralLanguageModel):
        raise ValueError(
            f"{folder} is a {type(model).__name__}, which has no word vectors; {purpose} needs those of an "
            "HsigmoidLanguageModel."
        )
    return model


def predict_words(model: BaseLanguageModel, contexts: Sequence[str | list[str]], search: Search) -> list[str]:
    """Return the predicted word after each context; raise an error for a search that the model does not have."""
    from sklearn_hashnlp.language._neural import NeuralLanguageModel

    if isinstance(model, NeuralLanguageModel):
        words = model.predict(contexts, search.value)
    elif search is Search.exact:
        words = model.predict(contexts)
    else:
        raise ValueError(f"--search greedy follows the tree of an HsigmoidLanguageModel, not {type(model).__name__}.")
    return list(map(str, words))


def check_no_checkpoints(folder: Path) -> None:
    """Raise an error for a checkpoint folder of an earlier training, before the sentences are read."""
    epochs = _epochs_in(folder)
    if epochs:
        raise FileExistsError(
            f"{folder} contains {epochs[0].name} of an earlier training; use --resume to continue it, or another "
            "--checkpoint-dir."
        )


def _epochs_in(folder: Path) -> list[Path]:
    from sklearn_hashnlp.training._checkpoints import EpochCheckpoints

    if not folder.is_dir():  # EpochCheckpoints would create it
        return []
    checkpoints = EpochCheckpoints(folder)
    return [checkpoints.path(epoch) for epoch in checkpoints.epochs()]


def check_vocabulary(model: NeuralLanguageModel, words: list[str]) -> None:
    """Raise an error for words without a word vector."""
    from difflib import get_close_matches

    if model._tokenizer.word_encoder is not None:  # every word has a vector
        return
    for word in words:
        if word not in model.vocabulary_:
            similar = get_close_matches(word, model.vocabulary_, n=3)
            hint = f" Did you mean {' or '.join(map(repr, similar))}?" if similar else ""
            raise ValueError(f"The word {word!r} is not in the vocabulary of the model.{hint}")
