"""A small text set on the disk whose labels hang on a few words."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

KINDS = {"world": "war peace treaty", "sport": "goal match coach", "trade": "bank stock price"}


def write_text_set(
    folder: Path, *, n_train: int = 240, n_test: int = 60, header: bool = False
) -> Path:
    """Write train.csv and test.csv, with Zhang's three columns or with a header and two."""
    folder.mkdir(parents=True)
    draws = np.random.RandomState(0)
    for name, n_rows in (("train", n_train), ("test", n_test)):
        with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, quoting=csv.QUOTE_ALL)
            if header:
                writer.writerow(["label", "text"])
            for row in range(n_rows):
                number = row % len(KINDS)
                words = draws.choice(list(KINDS.values())[number].split(), 3).tolist()
                noise = [f"w{word}" for word in draws.randint(0, 50, 12)]
                title, text = (
                    " ".join(words[:1] + noise[:3]) + ".",
                    ", ".join(words[1:] + noise[3:]),
                )
                writer.writerow(
                    [list(KINDS)[number], f"{title} {text}"]
                    if header
                    else [number + 1, title, text]
                )
    return folder
