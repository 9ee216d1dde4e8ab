"""Language models and sentences: the options that name them, loading, and checks before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from sklearn_hashnlp.cli._options import LineOptions
from sklearn_hashnlp.cli._reading import check_text_file, is_stdin, line_batches
from sklearn_hashnlp.cli._screen import Screen

LanguageModelFolder = Annotated[
    Path,
    typer.Option(
        "--model",
        "-m",
        metavar="DIR",
        help="Folder of the model, or of one epoch of a checkpoint folder, such as "
        "checkpoints/epoch-00003; or an ARPA "
        "file (.arpa, also compressed: .arpa.gz, .arpa.bz2, .arpa.xz, .arpa.zip).",
    ),
]
_MAX_CAPITALIZED = 0.01  # of the words of a lowercase text: the Penn Treebank has N for a number
_ARPA_SUFFIXES = (".arpa", ".arpa.gz", ".arpa.bz2", ".arpa.xz", ".arpa.zip")


class Lowercase:
    """Lowercase unknown words of lines if the training text of the model was lowercase."""

    def __init__(self, screen: Screen, model: Any) -> None:
        self._screen = screen
        self._vocabulary = model.vocabulary_
        words = self._vocabulary.keys() - set(model.special_tokens_)  # these are not from the text
        n_capitalized = sum(word != word.lower() for word in words)
        self._lowercases = n_capitalized <= _MAX_CAPITALIZED * len(words)
        self._noted = False

    def __call__(self, line: str) -> str:
        """Return the line as the model should read it."""
        words = line.split()
        unknown = [word for word in words if word != word.lower() and word not in self._vocabulary]
        if unknown and self._lowercases:
            self._note("The training text was lowercase, and so words are lowercased.")
            return " ".join(word.lower() if word in unknown else word for word in words)
        for word in unknown:
            if word.lower() in self._vocabulary:
                self._note(
                    f"{word!r} is unknown to the model, but {word.lower()!r} is not: check the "
                    "capitals."
                )
        return line

    def _note(self, text: str) -> None:
        if not self._noted:
            self._screen.note(text)
        self._noted = True


@contextmanager
def opened(
    screen: Screen, folder: Path, file: Path | None, reading: LineOptions
) -> Iterator[tuple[Any, Lowercase, Iterator[list[str]]]]:
    """Open a file of lines, or stdin; yield the model, a lowercasing function, and batches."""
    check_text_file(file)  # before torch is loaded
    model = load_language_model(folder)
    with line_batches(screen, file, reading) as batches:
        yield model, Lowercase(screen, model), batches


def load_language_model(folder: Path) -> Any:
    """Load a language model of any kind, or an ARPA file; raise an error for another model."""
    from sklearn_hashnlp.persistence import load_model

    if folder.name.endswith(_ARPA_SUFFIXES) and not folder.is_dir():
        from sklearn_hashnlp.language import KneserNeyLanguageModel

        return KneserNeyLanguageModel.load_arpa(folder)
    model = load_model(folder)
    if not hasattr(model, "perplexity"):
        raise ValueError(
            f"{folder} is a {type(model).__name__}, not a language model; expected a folder of "
            "hashnlp lm train."
        )
    return model


def no_sentences(file: Path | None) -> str:
    """Return the message for a file without sentences."""
    source = "stdin" if is_stdin(file) else file
    return f"{source} has no sentences; expected one per line, words separated by spaces."


def check_sentences(path: Path, reading: LineOptions) -> None:
    """Raise an error for a file without sentences, before torch is loaded."""
    check_text_file(path)
    if path.is_file() and next(sentence_reader(path, reading)(), None) is None:
        raise ValueError(no_sentences(path))


def sentence_reader(
    path: Path, reading: LineOptions, *, lowercase: bool = False
) -> Callable[[], Iterator[str]]:
    """Return a function that reads the sentences of a file, for every epoch anew."""
    from sklearn_hashnlp.datasets import stream_paragraphs

    return lambda: (
        line.lower() if lowercase else line for line in stream_paragraphs(path, **vars(reading))
    )
