"""Draw the pictures of the guide; ``python docs/images/diagrams.py`` writes them beside this file.

Here: how does it work? Other questions are answered in the modules that are imported below.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # for the titles of the data sets

import figures
import moves
import overviews
import project
import tasks
from drawing import BLUE, GRAY, GREEN, INK, ORANGE, PALE, RED, Drawing

FOLDER = Path(__file__).parent


def hashing_steps() -> Drawing:
    """Draw the steps from a text to a row of a sparse matrix, and to rows of a hash embedding."""
    d = Drawing(640, 372, "A text becomes n-grams, hashes, columns and rows of tables")
    steps = [
        ("text", "The cat, the dog"),
        ("units", "the · cat · the · dog"),
        ("n-grams", "the · cat · dog · the cat · cat the · the dog"),
        ("hash", 'murmur3("cat") = 1751422759'),
        ("column", "|hash| mod 2^20 = 300839,  sign +1"),
        ("rows", "h(column), u1(column), u2(column)"),
    ]
    notes = [
        "",
        "tokens, lowercase",
        "words 1 to 2",
        "UTF-8, seed 0, 32 bits",
        "of the sparse matrix",
        "of a hash embedding",
    ]
    for i, ((name, content), note) in enumerate(zip(steps, notes, strict=True)):
        y = 14 + 59 * i
        color = BLUE if i < 3 else ORANGE if i < 5 else GREEN
        d.text(14, y + 12, name, anchor="start", bold=True, color=color)
        d.text(14, y + 31, note, anchor="start", size=13, color=GRAY)
        d.box(178, y, 448, 42, content, color=color, mono=True, size=15)
        if i:
            d.arrow(402, y - 17, 402, y)
    return d


def hash_collisions() -> Drawing:
    """Draw a vocabulary with a column for each word, and hashing, where two words share one."""
    d = Drawing(
        640,
        300,
        "A vocabulary has a row for each word it has seen, hashing has a column for any word",
    )
    words = ["film", "fine", "dull", "boring", "filmm"]
    for x, heading, color in ((20, "vocabulary", GRAY), (340, "hashing", BLUE)):
        d.text(x + 140, 22, heading, bold=True, size=18, color=color if color != GRAY else INK)
    columns = [0, 1, 2, 3, None]
    hashed = [3, 0, 5, 3, 1]
    for i, word in enumerate(words):
        y = 48 + 40 * i
        for x in (20, 340):
            d.box(x, y, 92, 30, word, mono=True, size=15, color=INK)
        if columns[i] is not None:
            d.arrow(112, y + 15, 218, 63 + 40 * columns[i])
        else:
            d.text(165, y + 15, "unknown", color=RED, size=15)
        d.arrow(432, y + 15, 548, 56 + 34 * hashed[i] + 8, color=RED if hashed[i] == 3 else BLUE)
    for i in range(4):
        d.box(218, 48 + 40 * i, 62, 30, f"{i}", size=15)
    for i in range(6):
        d.box(548, 50 + 34 * i, 62, 28, f"{i}", size=15, color=RED if i == 3 else BLUE)
    d.text(160, 276, "stored, and grows with the text", size=14, color=GRAY)
    d.text(480, 276, "nothing stored; two words may collide", size=14, color=GRAY)
    return d


def character_ngrams() -> Drawing:
    """Draw the character n-grams that two words share."""
    d = Drawing(640, 250, "The words cats and catz share most of their character n-grams")
    left, right = "<cats>", "<catz>"

    def ngrams(word: str) -> list[str]:
        return [word[i : i + n] for n in (2, 3) for i in range(len(word) - n + 1)]

    for row, (word, other) in enumerate(((left, right), (right, left))):
        y = 20 + 118 * row
        d.box(14, y + 22, 104, 42, word, mono=True, size=19, color=INK, bold=True)
        d.arrow(118, y + 43, 146, y + 43)
        shared = set(ngrams(other))
        for i, ngram in enumerate(ngrams(word)):
            line, column = (0, i) if len(ngram) == 2 else (1, i - len(word) + 1)
            color = GREEN if ngram in shared else ORANGE
            d.box(150 + 96 * column, y + 46 * line, 84, 36, ngram, mono=True, color=color, size=17)
    n_shared = len(set(ngrams(left)) & set(ngrams(right)))
    note = f"green: in both words ({n_shared} of {len(ngrams(left))}); orange: in one"
    d.text(320, 236, note, size=14, color=GRAY)
    return d


def projections() -> Drawing:
    """Draw three rows and three random hyperplanes: a bit is the side on which a row lies."""
    d = Drawing(640, 300, "A bit is the side of a random hyperplane on which a row lies")
    cx = 180
    cy = 150
    radius = 128
    d.circle(cx, cy, radius, color=GRAY, shade=0)
    normals = [12, 78, 140]
    for i, angle in enumerate(normals):
        t = math.radians(angle + 90)
        x, y = radius * math.cos(t), radius * math.sin(t)
        d.line(cx - x, cy + y, cx + x, cy - y, color=GRAY)
        label = math.radians(angle + 90)
        d.text(
            cx + 1.09 * radius * math.cos(label),
            cy - 1.09 * radius * math.sin(label),
            f"{i + 1}",
            color=GRAY,
        )
    rows = [("start", 62, BLUE), ("started", 36, GREEN), ("cow", -68, RED)]
    for _, angle, color in rows:
        t = math.radians(angle)
        d.arrow(
            cx,
            cy,
            cx + 0.92 * radius * math.cos(t),
            cy - 0.92 * radius * math.sin(t),
            color=color,
            width=3,
        )
    d.text(355, 42, "row", anchor="start", bold=True)
    for i in range(3):
        d.text(505 + 42 * i, 42, f"{i + 1}", bold=True)
    for r, (word, angle, color) in enumerate(rows):
        y = 84 + 46 * r
        d.text(355, y, word, anchor="start", mono=True, color=color, bold=True)
        for i, normal in enumerate(normals):
            bit = int(math.cos(math.radians(angle - normal)) > 0)
            d.box(489 + 42 * i, y - 16, 32, 32, str(bit), mono=True, color=BLUE if bit else GRAY)
    d.text(355, 224, "different bits: angle / 180°", anchor="start", size=15)
    d.text(355, 248, "of the hyperplanes, on average", anchor="start", size=15)
    return d


def hash_embedding() -> Drawing:
    """Draw the layer: importance weights and component vectors of one n-gram."""
    d = Drawing(640, 452, "A hash embedding is the weighted sum of k vectors of a shared pool")
    d.box(222, 12, 196, 36, 'n-gram w: "fine film"', color=INK, size=16, bold=True)
    d.text(98, 86, "importance weights", bold=True, color=ORANGE)
    d.text(98, 106, "n rows of k numbers", size=14, color=GRAY)
    d.text(500, 86, "pool of vectors", bold=True, color=BLUE)
    d.text(500, 106, "B rows of d numbers, shared", size=14, color=GRAY)
    for i in range(6):
        y = 124 + 30 * i
        chosen = i == 3
        for k in range(2):
            words = ("0.9", "0.2")[k] if chosen else ""
            d.box(
                38 + 60 * k, y, 60, 30, words, color=ORANGE, shade=PALE if chosen else 0, radius=0
            )
        for k in range(6):
            chosen_pool = i in (1, 4)
            d.box(
                410 + 30 * k,
                y,
                30,
                30,
                color=BLUE,
                shade=(0.25 if i == 1 else 0.45) if chosen_pool else 0,
                radius=0,
            )
    d.arrow(250, 48, 160, 224, color=ORANGE)
    d.text(236, 130, "h(w)", mono=True, color=ORANGE, anchor="start", size=15)
    d.arrow(330, 48, 408, 168, color=BLUE)
    d.text(376, 64, "u₁(w)", mono=True, color=BLUE, size=15)
    d.arrow(310, 48, 408, 258, color=BLUE)
    d.text(322, 164, "u₂(w)", mono=True, color=BLUE, size=15)
    d.arrow(98, 304, 98, 352)
    d.arrow(500, 304, 500, 352)
    d.box(38, 352, 120, 40, "0.9   0.2", color=ORANGE, size=17)
    d.text(186, 372, "·", size=26)
    d.box(214, 352, 390, 40, "(vector u₁(w),  vector u₂(w))", color=BLUE, size=17)
    d.text(320, 424, "embedding  =  0.9 · vector u₁(w)  +  0.2 · vector u₂(w)", bold=True, size=17)
    return d


def ngram_memory() -> Drawing:
    """Draw the n-grams that end at a token, their rows, and the sum with the token's embedding."""
    d = Drawing(
        640,
        420,
        "The last n-grams of a sequence are hashed to rows that are added to the token embedding",
    )
    tokens = ("the", "cat", "sat", "on", "the")
    for i, token in enumerate(tokens):
        d.box(40 + 88 * i, 14, 78, 36, token, color=INK if i < 2 else ORANGE, mono=True)
    d.text(560, 32, "tokens", size=14, color=GRAY)
    d.line(304, 62, 470, 62, color=BLUE, width=3)
    d.line(216, 74, 470, 74, color=GREEN, width=3)
    rows = [("(sat, on, the)", 150, GREEN, 1), ("(on, the)", 360, BLUE, 3)]
    for words, x, color, chosen in rows:
        d.arrow(387 if color == BLUE else 260, 62 if color == BLUE else 74, x, 108, color=color)
        d.text(x, 122, words, mono=True, size=15, color=color, bold=True)
        for i in range(5):
            for k in range(5):
                shade = PALE if i == chosen else 0
                d.box(x - 70 + 28 * k, 144 + 24 * i, 28, 24, color=color, shade=shade, radius=0)
        d.text(x, 280, "row = hash(n-gram)", size=14, color=GRAY)
        d.arrow(x, 292, x, 326, color=color)
    d.arrow(431, 50, 540, 108, color=INK)
    d.text(540, 122, "the", mono=True, size=15, bold=True)
    for k in range(5):
        d.box(470 + 28 * k, 192, 28, 24, color=INK, radius=0)
    d.text(540, 234, "token embedding", size=14, color=GRAY)
    d.arrow(540, 250, 540, 326)
    for x, words in ((150, "row"), (360, "row"), (540, "vector")):
        d.box(x - 52, 326, 104, 34, words, size=15)
    for x in (255, 450):
        d.text(x, 343, "+", size=22)
    d.text(320, 396, "input of the first layer", size=16, bold=True)
    return d


def tree() -> Drawing:
    """Draw a binary tree of words, and the path of one of them."""
    d = Drawing(640, 330, "The probability of a word is the product of the decisions on its path")
    nodes = {"r": (210, 40), "a": (118, 120), "b": (330, 120), "c": (250, 200), "d": (420, 200)}
    leaves = {
        "the": (60, 200),
        "of": (170, 200),
        "cat": (200, 284),
        "dog": (300, 284),
        "sat": (372, 284),
        "mat": (470, 284),
    }
    edges = ["ra", "rb", "bc", "bd"]
    twigs = [("a", "the"), ("a", "of"), ("c", "cat"), ("c", "dog"), ("d", "sat"), ("d", "mat")]
    path = {"rb", "bc", "cdog"}
    lines = [(edge, nodes[edge[0]], nodes[edge[1]], 15) for edge in edges]
    lines += [(node + leaf, nodes[node], leaves[leaf], 20) for node, leaf in twigs]
    for name, (x1, y1), (x2, y2), end in lines:
        start, stop = 15 / math.hypot(x2 - x1, y2 - y1), 1 - end / math.hypot(x2 - x1, y2 - y1)
        points = [(x1 + t * (x2 - x1), y1 + t * (y2 - y1)) for t in (start, stop)]
        d.line(
            *points[0],
            *points[1],
            color=ORANGE if name in path else GRAY,
            width=3.5 if name in path else 1.5,
        )
    for name, (x, y) in nodes.items():
        d.circle(x, y, 15, color=ORANGE if name in "rbc" else GRAY)
    for word, (x, y) in leaves.items():
        d.box(
            x - 30, y - 16, 60, 32, word, mono=True, color=ORANGE if word == "dog" else INK, size=16
        )
    d.text(410, 36, "P(dog) = 0.5 · 0.6 · 0.7", anchor="start", bold=True)
    d.text(410, 60, "three decisions, not six scores", anchor="start", size=14, color=GRAY)
    for words, x, y in (("0.5", 290, 74), ("0.6", 268, 158), ("0.7", 294, 238)):
        d.text(x, y, words, color=ORANGE, size=15, bold=True)
    return d


def language_model() -> Drawing:
    """Draw the network of the neural language model."""
    d = Drawing(640, 340, "The network of HsigmoidLanguageModel")
    for i, word in enumerate(["the", "cat", "sat"]):
        x = 42 + 130 * i
        d.box(x, 284, 96, 38, word, mono=True, color=INK)
        d.arrow(x + 48, 284, x + 48, 250)
        d.box(x, 212, 96, 38, "embedding", color=BLUE, size=15)
        d.arrow(x + 48, 212, x + 48, 178)
    d.box(42, 140, 356, 38, "concatenated:  x", color=BLUE)
    d.arrow(220, 140, 220, 112)
    d.box(42, 74, 356, 38, "hidden layer:  tanh(d + H x)", color=GREEN)
    d.arrow(220, 74, 220, 48)
    d.box(42, 10, 356, 38, "tree or softmax:  P(next word)", color=ORANGE)
    d.line(398, 159, 446, 159)
    d.line(446, 159, 446, 29)
    d.arrow(446, 29, 398, 29)
    d.text(462, 84, "direct connections", anchor="start", size=15)
    d.text(462, 104, "(optional)", anchor="start", size=14, color=GRAY)
    d.text(432, 294, "context", anchor="start", size=15)
    d.text(432, 314, "of order - 1 words", anchor="start", size=14, color=GRAY)
    return d


def which_estimator() -> Drawing:
    """Draw a chart: which estimator do I need."""
    d = Drawing(660, 578, "Which estimator do I need?")

    def question(x: float, y: float, width: float, words: str) -> None:
        d.box(
            x,
            y,
            width,
            44 if "\n" not in words else 58,
            words,
            color=GRAY,
            size=16,
            bold=True,
            radius=20,
        )

    def answer(x: float, y: float, width: float, words: str, note: str, color: str) -> None:
        d.box(x, y, width, 34, words, color=color, size=14.5)
        d.text(x + width / 2, y + 47, note, size=13, color=GRAY)

    question(220, 12, 220, "What do you want?")
    columns = [
        (112, "labels of texts", BLUE),
        (336, "the next word", GREEN),
        (552, "similar texts", ORANGE),
    ]
    for x, words, color in columns:
        d.arrow(330, 56, x, 96, color=color)
        d.text(x, 110, words, bold=True, color=color, size=17)
    for i, (words, note) in enumerate(
        [
            ("TextClassifier", "begin here: raw strings, any size"),
            ("HashEmbeddingClassifier", "own sparse features"),
            ("SGNNClassifier", "small devices: quantize_classifier"),
            ("classifiers.merge_classifiers", "data on several machines"),
        ]
    ):
        answer(8, 130 + 62 * i, 210, words, note, BLUE)
    for i, (words, note) in enumerate(
        [
            ("KneserNeyLanguageModel", "begin here: seconds, ARPA"),
            ("HsigmoidLanguageModel", "word vectors, long context"),
            ("InterpolatedLanguageModel", "the best: a mixture"),
            ("CacheLanguageModel", "words of this document"),
        ]
    ):
        answer(229, 130 + 62 * i, 214, words, note, GREEN)
    for i, (words, note) in enumerate(
        [
            ("SGNNSentenceEncoder", "by meaning: trained vectors"),
            ("DistilledSentenceEncoder", "vectors of another model"),
            ("SGNNProjector", "by spelling: bits, no training"),
        ]
    ):
        answer(454, 130 + 62 * i, 198, words, note, ORANGE)
    question(130, 394, 400, "Only features, for an estimator of yours?")
    for i, (words, note) in enumerate(
        [
            ("HashingNgramVectorizer", "n-grams, any text"),
            ("CharNgramFeaturizer", "characters of words"),
            ("FrequentNgramVectorizer", "a vocabulary, counted"),
        ]
    ):
        answer(8 + 221 * i, 454, 204, words, note, INK)
    d.text(
        330,
        536,
        "In torch, without scikit-learn: nn.HashEmbedding, nn.HierarchicalSoftmax,",
        size=14,
        color=GRAY,
    )
    d.text(
        330,
        556,
        "nn.SGNNProjection and the other modules of sklearn_hashnlp.nn",
        size=14,
        color=GRAY,
    )
    return d


def sentence_encoder() -> Drawing:
    """Draw a sentence vector from the spelling of the words and from co-occurrence."""
    d = Drawing(
        640, 300, "A sentence vector has a part from spelling and a part from co-occurrence"
    )
    d.box(190, 250, 260, 38, "my cat's sleep", mono=True, color=INK)
    for x, words, note, color in (
        (20, "spelling: projections of characters", "of any word, not trained", BLUE),
        (330, "context: learned word vectors", "from words in the same paragraph", GREEN),
    ):
        d.arrow(320, 250, x + 145, 222, color=color)
        d.box(x, 164, 290, 58, f"{words}\n{note}", color=color, size=15)
        d.arrow(x + 145, 164, x + 145, 126, color=color)
        d.box(x, 84, 290, 42, "summed, weighted by rarity", color=color)
        d.arrow(x + 145, 84, 320 + (40 if x > 100 else -40), 52, color=color)
    d.box(190, 12, 260, 40, "sentence vector, length 1", color=ORANGE, bold=True)
    return d


def saving_and_serving() -> Drawing:
    """Draw what becomes of a fitted model."""
    d = Drawing(640, 262, "A fitted model is saved as a folder of data, or exported as a program")
    d.box(14, 98, 140, 58, "fitted\nmodel", color=BLUE, bold=True)
    rows = [
        ("save_model", "folder: JSON, safetensors", "load_model, hashnlp predict", GREEN),
        ("export_predictor", "one .py file, or a folder", "Python and numpy alone", ORANGE),
        ("joblib.dump", "a pickle: runs code", "the same version, trusted", GRAY),
    ]
    for i, (call, result, use, color) in enumerate(rows):
        y = 22 + 82 * i
        d.arrow(154, 127, 204, y + 28, color=color)
        d.box(206, y, 420, 56, color=color)
        d.text(220, y + 17, call, mono=True, anchor="start", bold=True, size=16)
        d.text(612, y + 17, result, anchor="end", size=15)
        d.text(612, y + 40, f"used by: {use}", anchor="end", size=14, color=GRAY)
    return d


def parts_of_data() -> Drawing:
    """Draw classifiers of parts of the data, merged."""
    d = Drawing(
        640, 232, "Parts of the data are trained on by themselves, and the classifiers are merged"
    )
    for i in range(3):
        y = 14 + 72 * i
        d.box(12, y, 138, 52, f"texts of\nmachine {i + 1}", color=GRAY, size=15)
        d.arrow(150, y + 26, 196, y + 26)
        d.box(198, y, 132, 52, "fit, the same\nhashes", color=BLUE, size=15)
        d.arrow(330, y + 26, 398, 112, color=BLUE)
    d.box(400, 86, 92, 52, "merge", color=GREEN, bold=True)
    d.arrow(492, 112, 530, 112)
    d.box(532, 82, 96, 60, "one\nclassifier", color=ORANGE, bold=True)
    return d


def gpu_training() -> Drawing:
    """Draw which steps of a training run on the processor, and which on the GPU."""
    d = Drawing(
        640,
        268,
        "Texts are hashed on the processor; rows go to the GPU, where the network is trained",
    )
    d.text(160, 18, "processor", bold=True)
    d.box(12, 36, 296, 218, color=GRAY, shade=0)
    d.text(480, 18, "GPU", bold=True)
    d.box(332, 36, 296, 218, color=GREEN, shade=0)
    d.box(30, 52, 260, 52, "tokenize, hash, count:\nn_jobs threads", color=BLUE, size=15)
    d.arrow(160, 104, 160, 126)
    d.box(30, 128, 260, 44, "rows of n-gram counts", color=ORANGE, size=15)
    d.arrow(290, 150, 348, 150, color=GREEN)
    d.box(350, 128, 260, 44, "a copy of the rows", color=ORANGE, size=15)
    d.arrow(480, 172, 480, 194, color=GREEN)
    d.box(350, 196, 260, 44, "hash tables, layers, gradients", color=GREEN, size=15)
    d.arrow(350, 218, 292, 218, color=GREEN)
    d.box(30, 196, 260, 44, "the saved model, for any device", color=GRAY, size=15)
    d.text(480, 82, "each batch is taken from the copy", size=14, color=GRAY)
    return d


DIAGRAMS = (
    *(
        hashing_steps,
        hash_collisions,
        character_ngrams,
        projections,
        hash_embedding,
        ngram_memory,
        tree,
    ),
    *(
        language_model,
        which_estimator,
        sentence_encoder,
        saving_and_serving,
        parts_of_data,
        gpu_training,
    ),
    *(*tasks.DIAGRAMS, *moves.DIAGRAMS, *project.DIAGRAMS, *overviews.DIAGRAMS, *figures.DIAGRAMS),
)


def main() -> None:
    """Write all diagrams."""
    for draw in DIAGRAMS:
        (FOLDER / f"{draw.__name__}.svg").write_text(str(draw()), encoding="utf-8")


if __name__ == "__main__":
    main()
