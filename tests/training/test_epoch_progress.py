"""What skorch tells while it trains, as bars and lines."""

from __future__ import annotations

from typing import Any

from sklearn_hashnlp.training._callbacks import EpochProgress


def test_every_row_moves_the_bar_and_every_epoch_tells_a_line(small: Any, rows: Any) -> None:
    lines: list[str] = []
    moves: list[tuple[int, int]] = []
    progress = EpochProgress(lines.append, lambda done, total: moves.append((done, total)))
    model = small(classifier__callbacks=[progress], classifier__max_epochs=2, classifier__batch_size=10)
    for _ in range(2):  # a second training begins at zero
        lines.clear()
        moves.clear()
        model.fit([text for _, text in rows], [label for label, _ in rows])
        assert moves == [(10, 48), (20, 48), (24, 48), (34, 48), (44, 48), (48, 48)]
        assert [line.split("   ")[0] for line in lines] == ["Epoch 1/2", "Epoch 2/2"]


def test_validation_is_told(small: Any, rows: Any) -> None:
    lines: list[str] = []
    progress = EpochProgress(lines.append, lambda done, total: None)
    parameters = {"callbacks": [progress], "early_stopping": True, "validation_fraction": 0.3}
    parameters |= {"max_epochs": 1, "batch_size": 10}
    model = small(**{f"classifier__{name}": value for name, value in parameters.items()})
    model.fit([text for _, text in rows * 4], [label for label, _ in rows * 4])
    assert "validation accuracy 1.0000" in lines[0]
