"""Loading of language models and sentences, and checks before."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sklearn_hashnlp.cli._options import LineOptions
from sklearn_hashnlp.cli._screen import Screen
from sklearn_hashnlp.cli.lm._lm_options import Search
from sklearn_hashnlp.cli.reading._texts import BATCH_SIZE, check_text_file, is_stdin, line_batches

if TYPE_CHECKING:
    from sklearn_hashnlp.language._base_language_model import BaseLanguageModel
    from sklearn_hashnlp.language._neural_language_model import NeuralLanguageModel

_MAX_CAPITALIZED = 0.01  # of the words of a lowercase text: the Penn Treebank has N for a number
_ARPA_SUFFIXES = (".arpa", ".arpa.gz", ".arpa.bz2", ".arpa.xz", ".arpa.zip")


class Lowercase:
    """Lowercase unknown words of lines if the training text of the model was lowercase."""

    def __init__(self, screen: Screen, model: BaseLanguageModel) -> None:
        self._screen = screen
        self._vocabulary = model.vocabulary_
        words = self._vocabulary.keys() - set(model._tokenizer.special_tokens)  # these are not from the text
        self._lowercases = sum(word != word.lower() for word in words) <= _MAX_CAPITALIZED * len(words)
        self._noted = False

    def __call__(self, line: str) -> str:
        """Return the line as the model should read it."""
        words = line.split()
        unknown = [word for word in words if word != word.lower() and word not in self._vocabulary]
        if not unknown:
            return line
        if self._lowercases:
            self._note("The training text was lowercase, and so words are lowercased.")
            return " ".join(word.lower() if word in unknown else word for word in words)
        for word in unknown:
            if word.lower() in self._vocabulary:
                self._note(f"{word!r} is unknown to the model, but {word.lower()!r} is not: check the capitals.")
        return line

    def _note(self, text: str) -> None:
        if not self._noted:
            self._screen.note(text)
        self._noted = True


@contextmanager
def opened(
    screen: Screen,
    folder: Path,
    file: Path | None,
    reading: LineOptions,
    *,
    action: str,
    unit: str,
    size: int = BATCH_SIZE,
) -> Iterator[tuple[BaseLanguageModel, Lowercase, Iterator[list[str]]]]:
    """Open a file of lines, or stdin; yield the language model, a function that lowercases lines, and batches."""
    check_text_file(file)  # before torch is loaded
    model = load_language_model(folder)
    with line_batches(screen, file, reading, action=action, unit=unit, size=size) as batches:
        yield model, Lowercase(screen, model), batches


def no_sentences(file: Path | None) -> str:
    """Return the message for a file without sentences."""
    return f"{'stdin' if is_stdin(file) else file} has no sentences; expected one per line, words separated by spaces."


def check_sentences(path: Path, reading: LineOptions) -> None:
    """Raise an error for a file without sentences, before torch is loaded."""
    check_text_file(path, "a text file with one sentence per line")
    if path.is_file() and next(sentence_reader(path, reading)(), None) is None:
        raise ValueError(no_sentences(path))


def sentence_reader(path: Path, reading: LineOptions, *, lowercase: bool = False) -> Callable[[], Iterator[str]]:
    """Return a function that reads the sentences of a file, for every epoch anew."""
    from sklearn_hashnlp.datasets import stream_paragraphs

    return lambda: (line.lower() if lowercase else line for line in stream_paragraphs(path, **vars(reading)))


def load_language_model(folder: Path) -> BaseLanguageModel:
    """Load a language model of any kind, or an ARPA file; raise an error for another model."""
    from sklearn_hashnlp.language._base_language_model import BaseLanguageModel
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


def predict_words(model: BaseLanguageModel, contexts: Sequence[str | list[str]], search: Search) -> list[str]:
    """Return the predicted word after each context; raise an error for a search that the model does not have."""
    from sklearn_hashnlp.language._neural_language_model import NeuralLanguageModel

    if isinstance(model, NeuralLanguageModel):
        words = model.predict(contexts, search)
    elif search == "exact":
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
    from sklearn_hashnlp.training._checkpoints import Checkpoints

    checkpoints = Checkpoints(folder)
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
