"""skorch callbacks of the user."""

from __future__ import annotations

import numpy as np
from skorch.callbacks import EpochScoring, TensorBoard

from tests.language.hsigmoid.small_models import SENTENCES, VALID, losses, make


class Writer:
    """Stands for torch.utils.tensorboard's."""

    def __init__(self):
        self.scalars: dict[str, list[float]] = {}

    def add_scalar(self, tag, scalar_value, global_step=None):
        self.scalars.setdefault(tag, []).append(scalar_value)

    def close(self):
        self.closed = True


def test_tensorboard():
    writer = Writer()
    model = make(callbacks=[TensorBoard(writer)]).fit(SENTENCES, X_valid=VALID)
    assert writer.scalars["Loss/valid_loss"] == losses(model, "valid_loss")
    assert writer.scalars["Loss/train_loss"] == losses(model)
    assert writer.scalars["Loss/valid_perplexity"] == losses(model, "valid_perplexity")


def test_callbacks_of_a_user():
    def perplexity(net, X, y=None):
        return float(np.exp(-net.score_windows(X).mean()))

    scoring = EpochScoring(perplexity, name="own", lower_is_better=True)
    model = make(callbacks=[("own", scoring)]).fit(SENTENCES, X_valid=VALID)
    np.testing.assert_allclose(model.net_.history[:, "own"], losses(model, "valid_perplexity"), rtol=1e-5)
