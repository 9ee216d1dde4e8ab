"""The language model against its equation, its output layers, and its training."""

import copy
import math

import numpy as np
import pytest
import torch

from sklearn_hashnlp.nn import NPLM, HashEmbedding
from sklearn_hashnlp.nn._hashing import history_hashes
from sklearn_hashnlp.nn._word_embeddings import WordTable
from sklearn_hashnlp.trees import huffman_tree, random_tree, tree_from_nested

approx = pytest.approx
WORDS = 20
RNG = np.random.default_rng(0)
CONTEXTS = torch.from_numpy(RNG.integers(0, WORDS + 1, (9, 3)))
TARGETS = torch.from_numpy(RNG.integers(0, WORDS, 9))


def make(output="softmax", seed=0, **options):
    torch.manual_seed(seed)
    if output == "hsigmoid":
        output = huffman_tree(np.arange(1, WORDS + 1))
    options = {"order": 4, "embedding_dim": 5, "hidden_size": 7, "num_classes": WORDS} | options
    return NPLM(WORDS + 1, output=output, **options)


@pytest.mark.parametrize("direct", [False, True])
@pytest.mark.parametrize("hidden_layer", ["tanh", "sigmoid"])
def test_probabilities_follow_the_equation(hidden_layer, direct):
    model = make(hidden_layer=hidden_layer, direct_connections=direct).double()
    x = model.embedding.weight[CONTEXTS].reshape(9, 15)
    hidden, output = model.hidden_layer, model.output_layer
    act = {"tanh": torch.tanh, "sigmoid": lambda z: 1 / (1 + (-z).exp())}[hidden_layer]
    y = output.bias + act(hidden.bias + x @ hidden.weight.T) @ output.weight[:, :7].T
    if direct:
        y = y + x @ output.weight[:, 7:].T
    expected = (y.exp() / y.exp().sum(1, keepdim=True)).log()
    torch.testing.assert_close(model.log_prob(CONTEXTS), expected)
    log_probs, loss = model(CONTEXTS, TARGETS)
    torch.testing.assert_close(log_probs, expected[range(9), TARGETS])
    torch.testing.assert_close(loss, -log_probs.mean())
    assert model.hidden(CONTEXTS).shape == (9, 22 if direct else 7)


@pytest.mark.parametrize("direct", [False, True, ("hashed", 99)])
@pytest.mark.parametrize("output", ["softmax", "adaptive", "hsigmoid"])
def test_all_methods_agree(output, direct):
    hashed = isinstance(direct, tuple)
    if hashed and output != "hsigmoid":
        with pytest.raises(ValueError, match="needs a tree as output"):
            make(output, direct_connections=direct)
        return
    model = make(output, direct_connections=direct).double()
    if hashed:
        torch.nn.init.normal_(model.output_layer.direct)
    every = model.log_prob(CONTEXTS)
    assert every.shape == (9, WORDS)
    torch.testing.assert_close(every.exp().sum(1), torch.ones(9).double())
    torch.testing.assert_close(model(CONTEXTS, TARGETS)[0], every[range(9), TARGETS])
    log_probs, words = model.topk(CONTEXTS, 3)
    torch.testing.assert_close(log_probs, every.topk(3, dim=1).values)
    assert torch.equal(model.predict(CONTEXTS), words[:, 0])
    drawn = [model.sample(CONTEXTS, generator=torch.Generator().manual_seed(5)) for _ in range(2)]
    assert torch.equal(*drawn)


def test_hashed_connections_read_the_history():
    model = make("hsigmoid", direct_connections=("hashed", 2**16), padding_id=WORDS).double()
    context = torch.tensor([[WORDS, WORDS, 3], [1, 2, 3]])
    plain = model.log_prob(context)
    features = history_hashes(context, WORDS)
    torch.nn.init.normal_(model.output_layer.direct)
    expected = model.output_layer.log_prob(model.hidden(context), features)
    assert torch.equal(model.log_prob(context), expected)
    assert (plain != expected).any(1).all()


def test_a_padding_word_that_is_not_a_class():
    assert make().log_prob(torch.full((1, 3), WORDS)).shape == (1, WORDS)
    assert make(num_classes=None).num_classes == WORDS + 1


def test_greedy_search():
    model = make("hsigmoid")
    assert model.predict(CONTEXTS, search="greedy").shape == (9,)
    with pytest.raises(ValueError, match="has no tree: search must be 'exact', got 'greedy'"):
        make("softmax").predict(CONTEXTS, search="greedy")


@torch.no_grad()
def test_initialization():
    torch.manual_seed(0)
    sizes = {"embedding_dim": 60, "hidden_size": 80, "order": 4, "output": "softmax"}
    default = NPLM(500, **sizes)
    assert default.embedding.weight.std() == pytest.approx(0.1, rel=0.05)
    assert default.hidden_layer.weight.abs().max() <= 1 / math.sqrt(180)
    uniform = NPLM(500, **sizes, init="uniform")
    for values, least in ((uniform.embedding.weight, -1), (uniform.hidden_layer.weight, -1)):
        assert (values.min(), values.max()) == (
            pytest.approx(least, abs=0.01),
            pytest.approx(1, abs=0.01),
        )
    assert 0 <= uniform.hidden_layer.bias.min() < uniform.hidden_layer.bias.max() <= 1
    for direct in (False, True):
        output = NPLM(500, **sizes, init="uniform", direct_connections=direct).output_layer
        hidden, words = output.weight[:, :80], output.weight[:, 80:]
        assert (hidden.min(), hidden.max()) == (
            pytest.approx(0, abs=0.01),
            pytest.approx(1, abs=0.01),
        )
        assert (output.bias == 1).all()
        if direct:
            assert (words.mean(), words.std()) == (
                pytest.approx(-1, abs=0.02),
                pytest.approx(1, abs=0.02),
            )
    for name, values in make("adaptive", init="uniform").output_layer.named_parameters():
        assert (
            (values == 1).all() if name.endswith("bias") else 0 <= values.min() < values.max() <= 1
        )
    nested = [[list(range(i, i + 5)), list(range(i + 5, i + 10))] for i in range(0, 500, 10)]
    tree = tree_from_nested(nested)
    options = sizes | {"output": tree, "direct_connections": True}
    output, is_binary = (
        NPLM(500, **options, init="uniform").output_layer,
        np.zeros(tree.n_scores, dtype=bool),
    )
    is_binary[tree.score_offsets[:-1][tree.arities == 2]] = True
    assert (output.bias.numpy() == ~is_binary).all()
    binary, wide = output.weight[is_binary], output.weight[~is_binary]
    assert 0 <= wide[:, :80].min() < wide[:, :80].max() <= 1
    assert (wide[:, 80:].mean(), wide[:, 80:].std()) == (approx(-1, abs=0.02), approx(1, abs=0.02))
    assert (binary[:, :80].mean(), binary[:, :80].std()) == (
        approx(0, abs=0.03),
        approx(math.sqrt(1 / 6), rel=0.05),
    )
    assert (binary[:, 80:].mean(), binary[:, 80:].std()) == (
        approx(0, abs=0.06),
        approx(math.sqrt(2), rel=0.05),
    )
    hashed = make("hsigmoid", init="uniform", direct_connections=("hashed", 9))
    assert not hashed.output_layer.direct.any()
    reference = NPLM(500, **sizes, init="reference")
    assert reference.embedding.weight.std() == pytest.approx(0.001, rel=0.05)
    assert reference.hidden_layer.weight.std() == pytest.approx(1 / math.sqrt(8 * 60), rel=0.05)
    assert not reference.hidden_layer.bias.any()


def test_dropout():
    model = make(dropout=(0.5, 0.5, 0.0), direct_connections=True)
    model.dropout.generator = model.embedding_dropout.generator = torch.Generator().manual_seed(0)
    first = model.hidden(CONTEXTS)
    for part in first.split([7, 15], dim=1):  # the hidden layer, and x beside it
        assert 0.2 < (part == 0).double().mean() < 0.8
    assert not torch.equal(first, model.hidden(CONTEXTS))
    model.eval()
    assert torch.equal(
        model.hidden(CONTEXTS), make(direct_connections=True).eval().hidden(CONTEXTS)
    )


def test_options_of_the_output_layer():
    layer = make("hsigmoid", direct_connections=("hashed", 99, 5)).output_layer
    assert (layer.n_direct, layer.direct_seed) == (99, 5)
    assert make("hsigmoid", direct_connections="hashed").output_layer.n_direct == 2**22
    assert make(dropout=0.5).dropout.p == 0.5
    assert make(dropout=0.5).embedding_dropout.p == make(dropout=0.5).word_dropout.p == 0.0


def test_a_hash_embedding_as_word_vectors():
    torch.manual_seed(0)
    hashed = HashEmbedding(1000, 5, num_buckets=100, append_weight=False, sparse=True)
    model = make("hsigmoid", embedding=hashed, sparse=True)
    far = torch.tensor([[2**31 - 1, 0, 7]])
    assert model.log_prob(far).exp().sum().item() == pytest.approx(1)
    model(far, torch.tensor([3]))[1].backward()
    assert hashed.pool.grad.is_sparse


def test_a_single_class():
    model = NPLM(3, 2, 4, 4, num_classes=1, output=huffman_tree(1))
    log_probs, loss = model(torch.tensor([[0], [2]]), torch.zeros(2, dtype=torch.int64))
    assert log_probs.tolist() == [0, 0]
    assert loss == 0
    assert model.predict(torch.tensor([[1]])).tolist() == [0]


@pytest.mark.parametrize(
    ("output", "options"),
    [
        ("softmax", {"direct_connections": True}),
        ("tied_softmax", {"embedding_dim": 5, "num_classes": WORDS}),
        ("adaptive", {"init": "uniform"}),
        ("hsigmoid", {"direct_connections": ("hashed", 50), "init": "uniform"}),
        ("hsigmoid", {"hidden_layer": ("residual", 2), "far_context": 3}),
    ],
)
def test_device_and_dtype(output, options):
    contexts = torch.cat([CONTEXTS, CONTEXTS[:, : options.get("far_context", 0)]], dim=1)
    model = make(output, **options, dtype=torch.float64)
    plain = make(output, **options).double()
    for own, other in zip(
        [*model.parameters(), *model.buffers()],
        [*plain.parameters(), *plain.buffers()],
        strict=True,
    ):
        assert own.dtype == other.dtype
    plain.load_state_dict(model.state_dict())
    log_probs, loss = model(contexts, TARGETS)
    assert log_probs.dtype == loss.dtype == torch.float64
    torch.testing.assert_close(log_probs, plain(contexts, TARGETS)[0])
    meta = make(output, **options, device="meta")
    assert {tensor.device.type for tensor in [*meta.parameters(), *meta.buffers()]} == {"meta"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": 1}, "order must be an integer of at least 2, got 1"),
        ({"hidden_size": 0}, "hidden_size must be an integer of at least 1, got 0"),
        ({"output": "soft"}, "output must be one of .*, got 'soft'"),
        ({"hidden_layer": "relu"}, "must be 'tanh', 'sigmoid', 'residual', or .* Got 'relu'"),
        ({"hidden_layer": ("residual", 2, 2)}, "'hidden_layer' parameter of NPLM"),
        ({"dropout": (0.5, 0.5)}, r"or three: .* Got \(0.5, 0.5\)"),
        ({"init": "zero"}, "init must be one of .*, got 'zero'"),
        (
            {"direct_connections": "dense"},
            "must be False, True, 'hashed', or a tuple .* Got 'dense'",
        ),
        (
            {"direct_connections": ("hashed", 0)},
            r"such as \('hashed', 4194304\). Got \('hashed', 0\)",
        ),
        ({"output": "hsigmoid"}, "output must be one of"),
        ({"output": random_tree(9)}, "the tree must have num_classes=10 classes, got 9"),
        (
            {"embedding": HashEmbedding(9, 4, num_buckets=5)},
            "embedding_dim must be 6, the output_dim of the HashEmbedd",
        ),
        ({"hidden_layer": ("residual", 0)}, r"Got \('residual', 0\) instead"),
        ({"far_context": -1}, "far_context must be an integer of at least 0, got -1"),
        (
            {"output": "tied_softmax", "embedding": WordTable(10, 64)},
            "output='tied_softmax' needs a table",
        ),
        (
            {"output": "tied_softmax", "direct_connections": True},
            "output='tied_softmax' needs a table",
        ),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        NPLM(10, **{"output": "softmax", **options})


def test_contexts_of_another_length_are_refused():
    with pytest.raises(ValueError, match=r"context must have shape \(rows, 3\).*got \(2, 4\)"):
        make().log_prob(torch.zeros(2, 4, dtype=torch.int64))
    with pytest.raises(ValueError, match=r"must have shape \(rows, 8\)"):
        make(far_context=5).hidden(CONTEXTS)


@pytest.mark.gpu
@pytest.mark.parametrize("output", ["softmax", "adaptive", "hsigmoid"])
def test_on_cuda(output):
    model = make(output, sparse=True)
    on_gpu = copy.deepcopy(model).to("cuda")
    torch.testing.assert_close(
        on_gpu.log_prob(CONTEXTS.cuda()).cpu(), model.log_prob(CONTEXTS), atol=1e-5, rtol=1e-5
    )
    _, loss = on_gpu(CONTEXTS.cuda(), TARGETS.cuda())
    loss.backward()
    assert on_gpu.embedding.weight.grad.device.type == "cuda"
