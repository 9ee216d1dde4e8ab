"""What the commands of ``hashnlp lm`` share: reading sentences and loading models."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sklearn_hashnlp import HsigmoidLanguageModel


def check_sentences(path: Path) -> None:
    """Refuse a file without sentences, before torch is loaded and anything is trained."""
    from sklearn_hashnlp.datasets._lines import read_lines

    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; expected a text file, a sentence a line.")
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist.")
    if path.is_file() and not any(not line.isspace() for line in read_lines(path)):
        raise ValueError(f"{path} holds no sentence; expected one a line, words apart by blanks.")


def sentences_of(path: Path) -> Callable[[], Iterator[str]]:
    """Make a reader of a file's sentences."""
    from sklearn_hashnlp.datasets._lines import read_lines

    return lambda: (line for line in read_lines(path) if not line.isspace())


def load_language_model(folder: Path) -> HsigmoidLanguageModel:
    """Load a language model."""
    from sklearn_hashnlp import HsigmoidLanguageModel
    from sklearn_hashnlp.persistence import load_model

    try:
        model: Any = load_model(folder)
    except FileNotFoundError:
        passes = _passes_in(folder)
        if not passes:
            raise
        raise FileNotFoundError(
            f"{folder} holds the passes of a training; give one of them, such as {passes[-1]}."
        ) from None
    if not isinstance(model, HsigmoidLanguageModel):
        raise ValueError(
            f"{folder} holds a {type(model).__name__} and no language model; give a folder that hashnlp lm train made."
        )
    return model


def check_without_passes(folder: Path) -> None:
    """Refuse a checkpoint folder of an earlier training, before the sentences are read."""
    passes = _passes_in(folder)
    if passes:
        raise FileExistsError(
            f"{folder} holds {passes[0].name} of an earlier training; give --resume to go on with that, or another "
            "--checkpoint-dir."
        )


def _passes_in(folder: Path) -> list[Path]:
    from sklearn_hashnlp.training._checkpoints import EpochCheckpoints

    if not folder.is_dir():  # which would be made
        return []
    passes = EpochCheckpoints(folder)
    return [passes.path(number) for number in passes.numbers()]


def check_known(model: HsigmoidLanguageModel, words: list[str]) -> None:
    """Refuse words that a model has no vectors of."""
    from difflib import get_close_matches

    if model.embedding != "table":  # every word has a vector
        return
    for word in words:
        if word not in model.vocabulary_:
            similar = get_close_matches(word, model.vocabulary_, n=3)
            hint = f" Did you mean {' or '.join(map(repr, similar))}?" if similar else ""
            raise ValueError(f"The model does not know the word {word!r}: it is none of its words.{hint}")
