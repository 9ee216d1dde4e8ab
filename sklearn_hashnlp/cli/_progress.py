"""The progress of a training on the screen: a bar, and a line for each epoch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from sklearn_hashnlp.cli._screen import Screen, format_perplexity

_LOSSES: Final = {"train_loss": "training", "valid_loss": "validation"}
_SCORES: Final = {
    "valid_acc": "accuracy",
    "valid_accuracy": "accuracy",
    "valid_precision_at_1": "precision at 1",
    "valid_recall_at_1": "recall at 1",
}


class Progress:
    """A function for ``callbacks`` that moves a bar and writes a line for each epoch."""

    def __init__(
        self,
        write: Callable[[str], None],
        update: Callable[[float, int, str], None],
        *,
        log: Callable[[], Sequence[Mapping[str, Any]]] = list,
        perplexity: bool = False,  # whether to show it and not the loss
    ) -> None:
        self._write, self._update = write, update
        self._log, self._n_logged = log, 0
        self._perplexity = perplexity

    def __call__(self, done: float, n_epochs: int, history: Sequence[Mapping[str, Any]]) -> None:
        """Show the epochs done, a fraction within an epoch, of a number of epochs."""
        epoch, log = history[-1], self._log()
        for entry in log[self._n_logged :]:
            self._write(
                "   ".join(
                    [f"  step {entry['step']}", *_losses(entry, perplexity=self._perplexity)]
                )
            )
        self._n_logged = len(log)
        self._update(done, n_epochs, f"Epoch {len(history)}/{n_epochs}")
        if "dur" in epoch:  # it is finished
            self._write(epoch_line(epoch, n_epochs, perplexity=self._perplexity))


@contextmanager
def shown_training(
    screen: Screen, estimator: Any, action: str = "Training", *, perplexity: bool = False
) -> Iterator[None]:
    """Show the progress of an estimator that is trained inside, and its warnings as notes."""
    callbacks = estimator.callbacks or []
    [log] = [one for one in callbacks if hasattr(one, "log_")] or [None]
    with screen.bar(action) as update:
        entries = list if log is None else lambda: log.log_
        progress = Progress(screen.note, update, log=entries, perplexity=perplexity)
        estimator.set_params(callbacks=[*callbacks, progress])
        try:
            yield
        finally:
            estimator.set_params(callbacks=None)  # which are not saved with the model


def epoch_line(epoch: Mapping[str, Any], n_epochs: int, *, perplexity: bool = False) -> str:
    """Return the line of an epoch: its losses, its scores on validation texts, and its seconds."""
    parts = [f"Epoch {epoch['epoch']}/{n_epochs}", *_losses(epoch, perplexity=perplexity)]
    parts += [
        f"validation {words} {epoch[name]:.4f}" for name, words in _SCORES.items() if name in epoch
    ]
    return "   ".join([*parts, f"{epoch['dur']:.1f} s"])


def _losses(entry: Mapping[str, Any], *, perplexity: bool) -> list[str]:
    return [
        f"{kind} {_loss(entry[name], perplexity=perplexity)}"
        for name, kind in _LOSSES.items()
        if name in entry
    ]


def _loss(loss: float, *, perplexity: bool) -> str:
    return f"perplexity {format_perplexity(loss)}" if perplexity else f"loss {loss:.4f}"
