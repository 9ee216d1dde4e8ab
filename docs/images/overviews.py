"""Pictures of pages that sum up: questions, terms, what is not there, and which solver is used."""

from __future__ import annotations

from collections.abc import Callable

from drawing import BLUE, GRAY, GREEN, INK, ORANGE, RED, Drawing


def faq() -> Drawing:
    """Draw what people ask, by the step at which they ask it."""
    d = Drawing(
        640, 168, "Questions of training, of memory and time, of results, and of saving and serving"
    )
    columns = (
        ("training", BLUE, "imbalanced classes\nconfusion matrix\ntypos, languages"),
        ("memory and time", ORANGE, "out of memory\nslow start\nGPU"),
        ("results", GREEN, "probabilities\nwhy this label?\nreproducible?"),
        ("saving, serving", INK, "save a model\nserve it\nfastText files"),
    )
    for i, (heading, color, words) in enumerate(columns):
        d.box(8 + 158 * i, 12, 150, 144, color=color, shade=0)
        d.text(83 + 158 * i, 34, heading, color=color, bold=True, size=14)
        d.lines(83 + 158 * i, 98, words, size=14)
    return d


def glossary() -> Drawing:
    """Draw the terms along the way of a text through a model."""
    d = Drawing(
        640,
        210,
        "A text, tokens, n-grams, columns, buckets, component vectors, scores, probabilities",
    )
    d.chain(14, [("text", INK), ("tokens", GRAY), ("n-grams", GRAY), ("columns", BLUE)])
    d.chain(
        130,
        [
            ("buckets", BLUE),
            ("component\nvectors", BLUE),
            ("scores", GREEN),
            ("probabilities", GREEN),
        ],
    )
    d.lines(
        320, 100, "a hash function: column of an n-gram, buckets of a column", size=14, color=GRAY
    )
    return d


def roadmap() -> Drawing:
    """Draw what was run, what was not, and what is not planned."""
    d = Drawing(640, 190, "What was run, what was not run, and what is not planned")
    columns = (
        ("run", GREEN, "Linux, x86-64\nPython 3.11, 3.13\nNVIDIA H200"),
        ("not run", ORANGE, "macOS, Windows, ARM\nfree-threaded Python\nseveral GPUs"),
        ("not planned", RED, "pretrained models\nlong generated texts\na server"),
    )
    for i, (heading, color, words) in enumerate(columns):
        d.box(8 + 212 * i, 12, 200, 166, color=color, shade=0)
        d.text(108 + 212 * i, 38, heading, color=color, bold=True)
        d.lines(108 + 212 * i, 112, words, size=15)
    return d


def model_selection() -> Drawing:
    """Draw which solver and loss the default takes, by the number of texts and labels."""
    d = Drawing(
        640, 236, "The default solver: dual for few texts or many labels, else stochastic gradients"
    )
    d.text(390, 18, "number of texts", size=15, color=GRAY)
    for x, words in ((120, "0"), (250, "20,000"), (310, "30,000"), (500, "200,000")):
        d.text(x, 44, words, size=14, color=GRAY)
    rows = (("2 labels", 310), ("3 to 15", 250), ("16 to 100", 500), ("more", 250))
    for i, (labels, end) in enumerate(rows):
        y = 58 + 40 * i
        d.text(106, y + 16, labels, anchor="end", size=15)
        d.box(120, y, end - 120, 32, "dual solver" if end > 250 else "dual", color=BLUE, size=14)
        d.box(
            end,
            y,
            632 - end,
            32,
            "softmax" if end > 400 else "softmax, gradients",
            color=ORANGE,
            size=14,
        )
    d.text(
        320,
        226,
        "multilabel, callbacks, epochs or a learning rate set: gradients",
        size=14,
        color=GRAY,
    )
    return d


DIAGRAMS: tuple[Callable[[], Drawing], ...] = (faq, glossary, roadmap, model_selection)
