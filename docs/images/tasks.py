"""Pictures of a model's surroundings: inputs, outputs, equivalents of other programs' calls."""

from __future__ import annotations

import math
from collections.abc import Callable

from drawing import BLUE, GRAY, GREEN, INK, ORANGE, PALE, RED, Drawing


def classifier() -> Drawing:
    """Draw the steps of the text classifier, and its two solvers."""
    d = Drawing(
        640,
        236,
        "Texts become hashed n-grams, vectors, scores and labels; two solvers find the weights",
    )
    steps = [
        ("texts", INK),
        ("n-grams,\nhashed", BLUE),
        ("vectors,\nsummed", ORANGE),
        ("linear\nlayer", ORANGE),
    ]
    d.chain(16, [*steps, ("labels", GREEN)])
    d.box(264, 8, 242, 72, color=ORANGE, shade=0)
    d.text(385, 94, "weights, found by one of", size=14, color=ORANGE)
    for x, name, when, color in (
        (60, "dual solver", "fewer than 20,000 texts:\na linear support vector machine", GREEN),
        (370, "stochastic gradients", "more texts:\nsoftmax, one epoch", BLUE),
    ):
        d.arrow(x + 125, 142, 340 if x < 300 else 430, 104, color=color)
        d.box(x, 142, 250, 84, color=color)
        d.text(x + 125, 160, name, bold=True)
        d.lines(x + 125, 199, when, size=15)
    return d


def regressor() -> Drawing:
    """Draw texts on a scale of numbers."""
    d = Drawing(
        640, 196, "Texts are given numbers: a new text gets the sum of the weights of its n-grams"
    )
    d.chain(
        12,
        [
            ("texts and\nnumbers", INK),
            ("hashed n-grams,\nweighted", BLUE),
            ("ridge\nregression", ORANGE),
            ("a number", GREEN),
        ],
    )
    d.line(60, 150, 580, 150)
    for stars, words in ((1, "dull and far too long"), (4.5, "a fine, funny film")):
        x = 60 + 520 * stars / 5
        d.circle(x, 150, 6, color=GREEN, shade=1)
        d.text(x, 122, words, size=15)
    for number in range(6):
        d.line(60 + 104 * number, 146, 60 + 104 * number, 154)
        d.text(60 + 104 * number, 174, str(number), size=15, color=GRAY)
    return d


def callbacks() -> Drawing:
    """Draw the training as a timeline, and when each kind of callback is called."""
    d = Drawing(
        640,
        230,
        "A training is a row of epochs and each epoch a row of batches; callbacks are called "
        "between",
    )
    d.box(10, 50, 620, 40, "fit", color=INK, bold=True)
    for epoch in range(3):
        x = 10 + 210 * epoch
        d.box(x, 94, 200, 34, f"epoch {epoch + 1}", color=BLUE)
        for batch in range(4):
            d.box(x + 50 * batch, 132, 46, 26, "batch", color=GRAY, size=13)
        d.arrow(x + 200, 190, x + 200, 160, color=GREEN)
        d.arrow(x + 200, 32, x + 200, 92, color=ORANGE)
    d.text(
        320, 18, "callbacks of scikit-learn: after each epoch, the estimator", color=ORANGE, size=15
    )
    d.text(
        320,
        204,
        "callbacks of skorch: after each batch and epoch, the network",
        color=GREEN,
        size=15,
    )
    return d


def tensorboard() -> Drawing:
    """Draw the way from a training to TensorBoard."""
    d = Drawing(
        640, 210, "A callback writes event files, which TensorBoard shows as curves and as points"
    )
    d.chain(
        14,
        [
            ("fit", INK),
            ("callback\nTensorBoard", BLUE),
            ("event files", GRAY),
            ("tensorboard\n--logdir", GREEN),
        ],
    )
    d.text(150, 92, "SCALARS", bold=True, size=14)
    d.box(60, 104, 180, 94, shade=0)
    d.curve([(70 + 16 * i, 112 + 62 * (1 - math.exp(-i / 3))) for i in range(11)], color=BLUE)
    d.curve([(70 + 16 * i, 118 + 70 * (1 - math.exp(-i / 2))) for i in range(11)], color=ORANGE)
    d.text(490, 92, "PROJECTOR", bold=True, size=14)
    d.box(400, 104, 180, 94, shade=0)
    for x, y, word in ((440, 128, "cat"), (462, 146, "dog"), (520, 172, "sat"), (540, 152, "saw")):
        d.circle(x, y, 4, color=BLUE, shade=1)
        d.text(x + 9, y, word, anchor="start", size=14)
    return d


def container() -> Drawing:
    """Draw the layers of the image, and what a running container may write."""
    d = Drawing(
        640, 262, "An image has layers that are built once; the container writes nothing of them"
    )
    layers = [
        ("model folder", "COPY spam /models/spam", GREEN),
        ("the package", "pip install /src", BLUE),
        ("PyTorch for CPUs", "pip install torch --index-url", BLUE),
        ("Python", "FROM python:3.12-slim", GRAY),
    ]
    for i, (name, line, color) in enumerate(layers):
        d.box(10, 36 + 57 * i, 400, 50, color=color)
        d.text(22, 61 + 57 * i, name, anchor="start", size=15, bold=True)
        d.text(400, 61 + 57 * i, line, anchor="end", mono=True, size=12.5)
    d.text(210, 18, "image, read-only", bold=True, color=GRAY)
    d.text(540, 18, "container", bold=True, color=GRAY)
    d.box(460, 36, 170, 58, "any user,\nno home folder", size=15)
    d.box(460, 104, 170, 58, "texts in,\nlabels out", size=15, color=GREEN)
    d.box(460, 172, 170, 84, "training only:\na volume, and\n--tmpfs /tmp", size=15, color=ORANGE)
    d.arrow(410, 65, 460, 65)
    d.arrow(410, 133, 460, 133, color=GREEN)
    return d


def data() -> Drawing:
    """Draw formats of files that become texts and labels."""
    d = Drawing(
        640, 254, "Four formats of files are read as a list of texts and an array of labels"
    )
    files = [
        (".csv", 'spam,"Win, now!"'),
        (".tsv", "spam    Win, now!"),
        (".jsonl", '{"label": "spam", ...}'),
        (".txt", "__label__spam Win, now!"),
    ]
    for i, (extension, line) in enumerate(files):
        y = 12 + 54 * i
        d.box(10, y, 300, 44, color=GRAY)
        d.text(20, y + 22, extension, anchor="start", mono=True, bold=True, size=14)
        d.text(302, y + 22, line, anchor="end", mono=True, size=12.5)
        d.arrow(310, y + 22, 356, 112)
    d.text(160, 240, "each also as .gz, .bz2, .xz or .zip", size=14, color=GRAY)
    d.box(358, 84, 124, 56, "load_labelled", color=BLUE, size=15, bold=True)
    d.arrow(482, 100, 518, 62, color=GREEN)
    d.arrow(482, 124, 518, 162, color=GREEN)
    d.box(520, 34, 112, 56, "texts:\nlist of str", color=GREEN, size=15)
    d.box(520, 134, 112, 56, "labels:\narray", color=GREEN, size=15)
    return d


def exported_format() -> Drawing:
    """Draw the file weights.bin from its first byte to its last."""
    d = Drawing(
        640,
        232,
        "The file weights.bin is a line of JSON and arrays, each at a multiple of 64 bytes",
    )
    d.text(12, 18, "films/", mono=True, anchor="start", bold=True)
    d.text(110, 18, "weights.bin", mono=True, anchor="start", color=BLUE)
    d.text(250, 18, "__main__.py  __init__.py", mono=True, anchor="start", color=GRAY)
    parts = [
        ("header:\none line\nof JSON", 130, ORANGE),
        ("weight\n<f4", 90, BLUE),
        ("bias\n<f4", 70, BLUE),
    ]
    parts += [
        ("pool\n<f4, <f2 or |i1", 150, GREEN),
        ("pool.rows\n<u4", 90, GREEN),
        ("...", 60, GRAY),
    ]
    x = 12
    for words, width, color in parts:
        d.box(x, 56, width, 84, words, color=color, size=14, radius=0)
        if x > 12:
            d.arrow(x, 160, x, 142)
        x += width + 4
    d.text(
        320,
        176,
        "each array begins at a multiple of 64 bytes, little-endian, row by row",
        size=15,
        color=GRAY,
    )
    d.text(
        320, 208, 'header["arrays"]: name, type, shape, offset', mono=True, size=15, color=ORANGE
    )
    return d


def kneser_ney() -> Drawing:
    """Draw the back-off from the longest context to the uniform distribution."""
    d = Drawing(640, 306, "Each count gives up a discount, which the shorter context distributes")
    rows = [
        ("P(mat | on the)", "counted: on the mat", BLUE),
        ("P(mat | the)", "distinct words before: the mat", GREEN),
        ("P(mat)", "distinct words before: mat", ORANGE),
        ("1 / size of the vocabulary", "every word alike", GRAY),
    ]
    for i, (probability, count, color) in enumerate(rows):
        y, x = 12 + 74 * i, 12 + 40 * i
        d.box(x, y, 250, 46, probability, color=color, mono=i < 3, size=15)
        d.text(x + 264, y + 23, count, anchor="start", size=15)
        if i:
            d.arrow(x + 85, y - 28, x + 85, y, color=color)
            d.text(
                x + 98,
                y - 14,
                "plus gamma, the discounts, times",
                anchor="start",
                size=14,
                color=GRAY,
            )
    return d


def mixtures() -> Drawing:
    """Draw three models whose probabilities are summed with weights."""
    d = Drawing(
        640,
        256,
        "Three models predict the next word; their probabilities are summed with learned weights",
    )
    models = [
        ("HsigmoidLanguageModel", "a network", BLUE, "w₁"),
        ("KneserNeyLanguageModel", "n-gram counts", GREEN, "w₂"),
        ("CacheLanguageModel", "recent words", ORANGE, "w₃"),
    ]
    for i, (name, note, color, weight) in enumerate(models):
        y = 10 + 74 * i
        d.box(10, y, 230, 58, f"{name}\n{note}", color=color, size=15)
        d.arrow(240, y + 29, 380, 113, color=color, width=2.5)
        d.text(272, y + (8, 18, 46)[i], weight, bold=True, color=color)
    d.circle(402, 113, 22, color=INK, shade=0)
    d.text(402, 112, "+", size=24)
    d.arrow(424, 113, 460, 113)
    d.box(462, 84, 168, 58, "P(next word)", color=INK, bold=True)
    d.text(320, 240, "w₁ + w₂ + w₃ = 1, learned on validation text", size=15, color=GRAY)
    return d


def nn() -> Drawing:
    """Draw the modules by their place in a network."""
    d = Drawing(
        640,
        324,
        "The torch modules by their place in a network: inputs, networks, outputs and losses",
    )
    groups = [
        (
            "input",
            "HashEmbedding, HashEmbeddingBag\nNgramHashEmbedding\nSGNNProjection",
            BLUE,
        ),
        ("network", "NPLM, SGNNTransformer", GREEN),
        ("output", "HierarchicalSoftmax, FullSoftmax", ORANGE),
        ("loss", "InfoNCELoss, SimilarityBXENT\nCosineProximityLoss\nVonMisesFisherLoss", RED),
    ]
    y = 10
    for i, (name, modules, color) in enumerate(groups):
        height = 22 + 20 * (modules.count("\n") + 1)
        d.text(14, y + height / 2, name, anchor="start", bold=True, color=color)
        d.box(110, y, 330, height, modules, color=color, mono=True, size=14)
        if i:
            d.arrow(275, y - 18, 275, y)
        y += height + 18
    d.box(
        478, 10, 152, 124, "optim:\nRowwiseAdagrad,\nRowwiseAdam,\nRowwiseSGD", color=GRAY, size=15
    )
    d.arrow(478, 51, 440, 51)
    d.lines(554, 166, "update only the rows\nthat a batch used", size=14, color=GRAY)
    return d


def on_device() -> Drawing:
    """Draw a trained network that becomes one file."""
    d = Drawing(640, 190, "Weights are rounded to eight bits and written into one Python file")
    d.chain(
        14,
        [
            ("SGNNClassifier,\nfloat32", BLUE),
            ("quantized:\n8 bits", ORANGE),
            ("films.py:\none file", GREEN),
            ("any device with\nPython, numpy", INK),
        ],
    )
    for i, (x, bits, color) in enumerate(((84, 32, BLUE), (242, 8, ORANGE))):
        for bit in range(bits):
            d.box(
                x - 64 + 16 * (bit % 8) + 4 * i, 88 + 16 * (bit // 8), 14, 14, color=color, radius=1
            )
    d.text(84, 170, "a weight: 32 bits", size=14, color=GRAY)
    d.text(246, 122, "8 bits and a scale", size=14, color=GRAY)
    d.lines(
        478,
        122,
        "input bits are computed from characters:\nno table of words is stored",
        size=14,
        color=GRAY,
    )
    return d


def command_line() -> Drawing:
    """Draw the commands in the order of their use."""
    d = Drawing(
        640,
        264,
        "Commands by the order of their use: train or tune, then test, predict, explain, compare "
        "and export",
    )
    d.box(8, 84, 98, 56, "mails.csv", mono=True, size=15)
    for y, words in ((34, "train"), (84, "tune"), (134, "convert")):
        d.box(148, y + 6, 100, 44, words, color=BLUE, mono=True)
        d.arrow(248, y + 28, 296, 112)
    for y in (62, 112):
        d.arrow(106, 112, 148, y, color=BLUE)
    d.text(56, 162, "spam.bin", mono=True, size=15)
    d.arrow(96, 162, 148, 162, color=BLUE)
    d.box(298, 84, 104, 56, "folder\nspam", color=GREEN, bold=True)
    uses = {
        "predict": "labels",
        "test": "accuracy",
        "explain": "n-grams",
        "compare": "drift",
        "info": "description",
        "export": "one file",
    }
    for i, (words, note) in enumerate(uses.items()):
        y = 4 + 44 * i
        d.arrow(402, 112, 446, y + 18, color=ORANGE)
        d.box(448, y, 86, 36, words, color=ORANGE, mono=True, size=15)
        d.text(542, y + 18, note, anchor="start", size=15, color=GRAY)
    return d


def reproducibility() -> Drawing:
    """Draw what stays equal to the last bit, and what up to rounding."""
    d = Drawing(
        640, 276, "What another run changes: features never, trained models on another processor"
    )
    d.text(360, 20, "hashes, features, trees", bold=True, size=15)
    d.text(550, 20, "trained models", bold=True, size=15)
    rows = [
        "another process",
        "more or fewer threads",
        "another x86-64 processor",
        "other torch or numpy",
        "a GPU",
    ]
    for i, name in enumerate(rows):
        y = 40 + 40 * i
        d.text(12, y + 16, name, anchor="start")
        d.box(270, y, 180, 32, "every bit", color=GREEN, size=15)
        d.box(
            460,
            y,
            170,
            32,
            "every bit" if i < 2 else "up to rounding",
            color=GREEN if i < 2 else ORANGE,
            size=15,
        )
    d.text(320, 258, "with the same texts, parameters and random_state", size=14, color=GRAY)
    return d


def security() -> Drawing:
    """Draw what is read as data, and what runs as a program."""
    d = Drawing(
        640, 236, "Model folders and texts are data; pickles and exported Python files are programs"
    )
    for x, color, heading, note in (
        (10, GREEN, "data: from anyone", "worst case: an error, time, memory"),
        (330, RED, "programs: from people you trust", "worst case: anything"),
    ):
        d.box(x, 36, 300, 168, color=color, shade=0)
        d.text(x + 150, 18, heading, color=color, bold=True, size=15)
        d.text(x + 150, 222, note, size=14, color=GRAY)
    left = [
        "folders of save_model",
        "weights.bin, exported",
        "word vectors, ARPA, fastText",
        "texts of any content",
    ]
    right = ["files of joblib and pickle", "exported .py files", "functions as parameters"]
    for x, names, color in ((24, left, GREEN), (344, right, RED)):
        for i, name in enumerate(names):
            d.box(x, 48 + 38 * i, 272, 32, name, color=color, size=15)
    return d


def stream() -> Drawing:
    """Draw a fit and the days after it."""
    d = Drawing(
        640,
        208,
        "A model is fitted once, learns from each day's texts, and is fitted again when they "
        "doubled",
    )
    d.box(10, 14, 150, 56, "all texts\nso far", color=INK, size=15)
    d.arrow(85, 70, 85, 96, color=BLUE)
    d.box(10, 98, 150, 44, "fit", color=BLUE, mono=True, bold=True)
    for day in range(3):
        x = 196 + 118 * day
        d.box(x, 26, 92, 36, f"day {day + 1}", color=GRAY, size=15)
        d.arrow(x + 46, 62, x + 46, 96, color=GREEN)
        d.box(x - 4, 98, 102, 44, "partial_fit", color=GREEN, mono=True, size=14)
        d.arrow(x - (36 if day == 0 else 20), 120, x - 4, 120)
    d.arrow(530, 120, 556, 120)
    d.box(558, 98, 72, 44, "fit", color=BLUE, mono=True, bold=True)
    d.lines(584, 58, "twice as many\ntexts: again", size=14, color=GRAY)
    d.text(
        320, 176, "old texts are not read again: the more texts an n-gram had,", size=15, color=GRAY
    )
    d.text(320, 196, "the less its weight changes", size=15, color=GRAY)
    return d


def text_features() -> Drawing:
    """Draw a text, its tokens, n-grams and columns."""
    d = Drawing(
        640,
        306,
        "A text is split into tokens or characters, joined to n-grams, which are hashed to columns",
    )
    d.box(200, 8, 240, 36, '"Is it what it is?"', mono=True, color=INK)
    for x, name, units, grams, color in (
        (10, "words", "is · it · what · it · is · ?", "is it · it what · what it", BLUE),
        (330, "characters in words", "<is> · <it> · <what>", "<i · is · s> · <w · wh · ...", GREEN),
    ):
        d.arrow(320, 44, x + 150, 78, color=color)
        d.text(
            x + 2 if x < 100 else x + 298,
            62,
            name,
            color=color,
            bold=True,
            anchor="start" if x < 100 else "end",
        )
        d.box(x, 80, 300, 38, units, mono=True, size=14, color=color)
        d.arrow(x + 150, 118, x + 150, 142, color=color)
        d.box(x, 144, 300, 38, grams, mono=True, size=14, color=color)
        d.arrow(x + 150, 182, x + 150, 212, color=color)
    d.text(320, 197, "hash", bold=True)
    for column in range(20):
        count = {2: "2", 5: "1", 8: "1", 13: "3", 17: "1"}.get(column, "")
        d.box(
            20 + 30 * column, 214, 30, 34, count, color=ORANGE, shade=PALE if count else 0, radius=0
        )
    d.text(320, 272, "a sparse row of counts: columns by hash, no vocabulary", size=15, color=GRAY)
    return d


def tuning() -> Drawing:
    """Draw trials by size and score, and the best of each size."""
    d = Drawing(
        640, 262, "Trials by size and score: the front has the models that no other beats in both"
    )
    d.line(60, 14, 60, 220)
    d.line(60, 220, 500, 220)
    d.text(280, 242, "size of the saved model", size=15, color=GRAY)
    d.text(70, 18, "score", size=15, color=GRAY, anchor="start")
    front = [(100, 170), (160, 112), (250, 72), (400, 50)]
    d.curve(
        [
            (100, 220),
            *(
                place
                for i, (x, y) in enumerate(front)
                for place in ((x, front[max(i - 1, 0)][1]), (x, y))
            ),
        ]
    )
    for x, y in (
        (150, 196),
        (210, 150),
        (240, 182),
        (300, 120),
        (330, 166),
        (380, 96),
        (450, 84),
        (460, 140),
    ):
        d.circle(x, y, 5, color=GRAY)
    for x, y in front:
        d.circle(x, y, 6, color=BLUE, shade=1)
    d.line(290, 30, 290, 220, color=ORANGE, dash="6 4")
    d.text(290, 16, "--max-size", mono=True, size=14, color=ORANGE)
    d.text(520, 60, "the front", color=BLUE, bold=True, anchor="start")
    d.text(520, 110, "other trials", color=GRAY, anchor="start")
    d.arrow(330, 200, 256, 82, color=GREEN)
    d.text(340, 204, "chosen", color=GREEN, bold=True, anchor="start")
    return d


DIAGRAMS: tuple[Callable[[], Drawing], ...] = (
    *(
        classifier,
        regressor,
        callbacks,
        tensorboard,
        container,
        data,
        exported_format,
        kneser_ney,
        mixtures,
        nn,
    ),
    *(on_device, command_line, reproducibility, security, stream, text_features, tuning),
)
