"""skorch callbacks of the user."""

from __future__ import annotations

import numpy as np
from skorch.callbacks import EpochScoring, TensorBoard
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from torch.utils.tensorboard import SummaryWriter

from tests.language.hsigmoid.small_models import SENTENCES, VALID, losses, make


def test_tensorboard(tmp_path):
    model = make(callbacks=[TensorBoard(SummaryWriter(tmp_path))]).fit(SENTENCES, X_valid=VALID)
    events = EventAccumulator(str(tmp_path)).Reload()
    for name in ("train_loss", "valid_loss", "valid_perplexity"):
        written = events.Scalars(f"Loss/{name}")
        assert [event.step for event in written] == [1, 2, 3]
        np.testing.assert_allclose([event.value for event in written], losses(model, name), rtol=1e-6)


def test_callbacks_of_a_user():
    def perplexity(net, X, y=None):
        return float(np.exp(-net.score_windows(X).mean()))

    scoring = EpochScoring(perplexity, name="own", lower_is_better=True)
    model = make(callbacks=[("own", scoring)]).fit(SENTENCES, X_valid=VALID)
    np.testing.assert_allclose(model.net_.history[:, "own"], losses(model, "valid_perplexity"), rtol=1e-5)
