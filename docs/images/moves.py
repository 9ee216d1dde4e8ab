"""Pictures of a move: equivalents of other calls, and cards of examples on other engines."""

from __future__ import annotations

from collections.abc import Callable

from drawing import BLUE, GREEN, Drawing


def _cluster(title: str, parts: str, work: str, end: str, color: str) -> Drawing:
    d = Drawing(300, 212, f"{title}: {parts}, {work}, {end}")
    d.text(150, 20, title, bold=True, size=24, color=color)
    for i in range(3):
        x = 6 + 98 * i
        d.box(x, 42, 92, 38, parts, size=17)
        d.arrow(x + 46, 80, x + 46, 100, color=color)
        d.box(x, 102, 92, 38, work, color=color, size=17)
        d.arrow(x + 46, 140, 150 + 24 * (i - 1), 166, color=color)
    d.box(50, 168, 200, 38, end, color=GREEN, bold=True, size=17)
    return d


def dask() -> Drawing:
    """Draw the card of the example with dask."""
    return _cluster("Dask", "partition", "fit", "merged classifier", BLUE)


def ray() -> Drawing:
    """Draw the card of the example with Ray."""
    return _cluster("Ray", "texts", "actor", "labels, n-grams", BLUE)


def _moves(
    name: str, title: str, other: str, rows: list[tuple[str, str]], note: str = ""
) -> Callable[[], Drawing]:
    def draw() -> Drawing:
        height = (
            40
            + sum(44 + 19 * max(one.count("\n") for one in row) for row in rows)
            + (26 if note else 0)
        )
        d = Drawing(640, height, title)
        d.pairs(other, "sklearn-hashnlp", rows, note=note)
        return d

    draw.__name__ = f"coming_from{name}"
    return draw


MOVES = (
    _moves(
        "",
        "Programs, and the classes of this package that replace them",
        "other programs",
        [
            ("fastText", "TextClassifier"),
            ("HashingVectorizer", "HashingNgramVectorizer"),
            ("gensim, Paddle, TensorFlow", "HsigmoidLanguageModel"),
            ("KenLM", "KneserNeyLanguageModel"),
            ("RNN_tutorial", "nn.HierarchicalSoftmax"),
        ],
    ),
    _moves(
        "_tensorflow",
        "The layers of the TensorFlow script and their parameters here",
        "TensorFlow script",
        [
            ("tf.nn.embedding_lookup", "embedding_dim=..., order=..."),
            ("tf.tanh(d + H x)", 'hidden_layer="tanh"'),
            ("W x", "direct_connections=True"),
            ("softmax_cross_entropy", 'output="softmax"'),
            ("sess.run(optimizer, ...)", "fit(sentences)"),
        ],
        "one class, HsigmoidLanguageModel",
    ),
    _moves(
        "_paddle",
        "The layers of Paddle's model and their parameters here",
        "PaddlePaddle",
        [
            ("paddle.layer.embedding", "embedding_dim=..."),
            ("paddle.layer.concat, fc", 'hidden_layer="sigmoid"'),
            ("paddle.layer.hsigmoid", 'output="hsigmoid"\ntree="complete"'),
            ("paddle.trainer.SGD", "fit(reader)"),
            ("infer, decode_res", "predict(contexts)"),
        ],
        "one class, HsigmoidLanguageModel",
    ),
    _moves(
        "_kenlm",
        "Commands of KenLM and of this package; both read the ARPA file",
        "KenLM",
        [
            ("lmplz -o 5", "hashnlp lm train\n--model-type kneser-ney"),
            ("lm.arpa", "--arpa lm.arpa, load_arpa"),
            ("build_binary", "save_model"),
            ("query", "hashnlp lm score"),
        ],
        "the same probabilities, up to float32 precision",
    ),
    _moves(
        "_hash_embeddings",
        "Parts of the two programs for hash embeddings and their equivalents here",
        "Hash-Embeddings",
        [
            ("HashEmbedding(n, d, B, k)", "nn.HashEmbedding"),
            ("ReduceSum", "nn.HashEmbeddingBag"),
            ("the paper's classifier", 'HashEmbeddingClassifier\nvariant="paper"'),
            ("main.py -x, --old-hashembed", "benchmarks run, --set"),
        ],
    ),
    _moves(
        "_sgnn",
        "The pipeline of the SGNN notebook and the report's parts, and their equivalents here",
        "SGNN notebook and report",
        [
            ("CountVectorizer3D", "CharNgramFeaturizer"),
            ("80 SparseRandomProjection", "SGNNProjector"),
            ("a matrix for each sentence", "project_words"),
            ("Transformer, max pooling", "SGNNSentenceEncoder.report()"),
            ("SimilarityBXENT", "nn.SimilarityBXENT"),
        ],
    ),
    _moves(
        "_the_notebook",
        "The networks of the notebook and the modules here",
        "RNN_tutorial, pycnn",
        [
            ("random_binary_full_tree", "trees.random_tree"),
            ("hier_softmax(tree, ...)", "nn.HierarchicalSoftmax(tree)"),
            ("get_loss, generate", "layer(...), predict"),
            ("train(AttentionNetwork(...))", "benchmarks run reversal-sgd"),
            ("pc.SimpleSGDTrainer", "torch.optim.SGD"),
        ],
    ),
)

DIAGRAMS: tuple[Callable[[], Drawing], ...] = (*MOVES, dask, ray)
