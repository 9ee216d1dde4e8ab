"""Row-wise optimizers against plain loops and torch's own: steps, averages, gradients, states."""

import copy
import pickle

import numpy as np
import pytest
import torch

from sklearn_hashnlp.kernels.embeddings._bags import RowGradients
from sklearn_hashnlp.nn import HashEmbeddingBag
from sklearn_hashnlp.optim import RowwiseAdagrad, RowwiseAdam, RowwiseSGD
from sklearn_hashnlp.optim._rowwise_optimizer import coalesced

from ..oracles import optimizers as oracle

N_ROWS = 12
ROW_SHAPES = [(), (1,), (3,), (20,), (2, 3)]


@pytest.fixture(params=[RowwiseAdagrad, RowwiseAdam, RowwiseSGD])
def kind(request):
    return request.param


def some_rows(step, row_shape=(3,), dtype=torch.float64):
    """Return the gradient of a few rows: unsorted, some twice, in one step none, in one all."""
    generator = torch.Generator().manual_seed(step)
    rows = torch.randint(0, N_ROWS - 2, (step * 3 % 8,), generator=generator)
    if step == 4:
        rows = torch.randperm(N_ROWS, generator=generator)
    values = torch.randn(len(rows), *row_shape, dtype=dtype, generator=generator)
    return torch.sparse_coo_tensor(rows[None], values, (N_ROWS, *row_shape), check_invariants=True)


def train(optimizer, steps, on_step=lambda: None):
    """Take steps: tables get sparse gradients, every other parameter dense ones."""
    for step in steps:
        for parameter in optimizer.param_groups[0]["params"]:
            if len(parameter.shape) and len(parameter) == N_ROWS:
                parameter.grad = some_rows(step, parameter.shape[1:], parameter.dtype)
            else:
                generator = torch.Generator().manual_seed(step)
                parameter.grad = torch.randn(
                    parameter.shape, dtype=parameter.dtype, generator=generator
                )
        optimizer.step()
        on_step()


def make_parameters(dtype=torch.float64):
    """Return tables whose rows are numbers, vectors and matrices, and dense parameters of any
    shape.
    """
    generator = torch.Generator().manual_seed(0)
    shapes = [*((N_ROWS, *shape) for shape in ROW_SHAPES), (5,), (4, 2), (), (2, 3, 4)]
    return [
        torch.nn.Parameter(torch.randn(shape, dtype=dtype, generator=generator)) for shape in shapes
    ]


def copies(parameters):
    return [parameter.detach().clone() for parameter in parameters]


FORMULAS = {
    RowwiseAdagrad: (oracle.adagrad_rows, ["sum"], {"lr": 0.3, "eps": 1e-3}),
    RowwiseAdam: (
        oracle.adam_rows,
        ["mean", "square", "steps"],
        {"lr": 0.3, "betas": (0.8, 0.95), "eps": 1e-3},
    ),
    RowwiseSGD: (oracle.sgd_rows, ["steps"], {"lr": 0.3}),
}


@pytest.mark.usefixtures("_each_backend")
@pytest.mark.parametrize("shape", [(), (3,), (20,), (2, 3)])
def test_each_row_follows_the_formula_however_often_it_occurs(kind, shape):
    take_step, names, settings = FORMULAS[kind]
    table = torch.nn.Parameter(torch.ones(N_ROWS, *shape, dtype=torch.float64))
    table.data[-2:] = torch.nan  # rows without a gradient are neither read nor written
    optimizer = kind([table], **settings)
    expected = table.detach().clone().numpy().reshape(N_ROWS, -1)
    state = [np.zeros((N_ROWS, expected.shape[1] if name == "mean" else 1)) for name in names]
    for number in (1, 2, 5, 7, 3, 8):  # of 8 there is no row
        table.grad = gradient = some_rows(number, shape)
        optimizer.step()
        rows, values = (
            gradient.coalesce().indices()[0].numpy(),
            gradient.coalesce().values().numpy(),
        )
        take_step(
            expected,
            *state,
            rows,
            values.reshape(len(rows), expected.shape[1]),
            *np.hstack([*settings.values()]),
        )
    np.testing.assert_allclose(
        table.detach().numpy().reshape(N_ROWS, -1), expected, rtol=1e-11, atol=1e-12
    )
    for name, part in zip(names, state, strict=True):
        np.testing.assert_allclose(
            optimizer.state[table][name].numpy().ravel(), part.ravel(), rtol=1e-11, atol=1e-12
        )


@pytest.mark.usefixtures("_each_backend")
@pytest.mark.parametrize("shape", [(), (5,), (3, 4), "one sparse column"], ids=str)
@pytest.mark.parametrize(
    ("kind", "theirs", "options"),
    [
        (RowwiseAdagrad, torch.optim.Adagrad, {"lr": 0.2}),
        (RowwiseAdam, torch.optim.Adam, {"lr": 0.2, "betas": (0.5, 0.9), "eps": 1e-3}),
        (RowwiseAdam, torch.optim.Adam, {"betas": (0.0, 0.0)}),
        (RowwiseSGD, torch.optim.SGD, {"lr": 0.2}),
        (RowwiseSGD, torch.optim.SGD, {"lr": 0.3, "weight_decay": 0.1}),
        (RowwiseAdam, torch.optim.AdamW, {"lr": 0.3, "eps": 1e-3, "weight_decay": 0.1}),
    ],
    ids=str,
)
def test_dense_gradients_and_those_of_one_column_are_torchs(kind, theirs, options, shape):
    torch.manual_seed(0)
    size = (6, 1) if isinstance(shape, str) else shape
    parameters = [torch.nn.Parameter(torch.ones(size, dtype=torch.float64)) for _ in range(2)]
    optimizers = [make([w], **options) for make, w in zip((kind, theirs), parameters, strict=True)]
    for step in range(8):
        gradient = torch.randn(size, dtype=torch.float64)
        parameters[0].grad = gradient.to_sparse(1) if isinstance(shape, str) else gradient.clone()
        parameters[1].grad = gradient
        if step == 3 and not isinstance(shape, str):
            parameters[0].grad = parameters[1].grad = None
        for optimizer in optimizers:
            optimizer.step()
    torch.testing.assert_close(*parameters, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-11), (torch.float32, 2e-4)])
def test_kernels_and_torch_take_the_same_steps(kind, dtype, tolerance, use_kernels):
    trained = []
    for compiled in (True, False):
        use_kernels(compiled)
        parameters = make_parameters(dtype)
        optimizer = kind(parameters, lr=0.3, average_after=3)
        train(optimizer, range(10))
        weights = copies(parameters)
        assert optimizer.load_average()
        trained.append([*weights, *copies(parameters)])
    for ours, theirs in zip(*trained, strict=True):
        assert ours.dtype == dtype
        torch.testing.assert_close(ours, theirs, rtol=tolerance, atol=tolerance)


def test_kernels_run_on_the_cpu_in_single_and_double_precision(kind, monkeypatch):
    def refuse(*arguments):
        raise AssertionError("torch ran")

    monkeypatch.setattr(kind, "_row_updates", refuse)
    for dtype in (torch.float32, torch.float64):
        train(kind(make_parameters(dtype)), range(3))
    with pytest.raises(AssertionError, match="torch ran"):
        train(kind(make_parameters(torch.bfloat16)), range(3))


@pytest.mark.usefixtures("_each_backend")
@pytest.mark.parametrize("average_after", [0, 6])
def test_the_average_is_the_mean_of_the_weights_after_each_later_step(kind, average_after):
    parameters, history = make_parameters(), []
    optimizer = kind(parameters, lr=0.3, average_after=average_after)
    train(optimizer, range(10), lambda: history.append(copies(parameters)))
    assert optimizer.load_average()
    for index, parameter in enumerate(parameters):
        mean = torch.stack([weights[index] for weights in history[average_after:]]).mean(dim=0)
        torch.testing.assert_close(parameter.detach(), mean, rtol=1e-10, atol=1e-12)


@pytest.mark.usefixtures("_each_backend")
def test_what_is_updated_also_decays_and_nothing_else_does(kind):
    lr, weight_decay = 0.3, 0.2
    plain, decaying = make_parameters(), make_parameters()
    optimizers = (
        kind(plain, lr=lr),
        kind(decaying, lr=lr, weight_decay=weight_decay, average_after=3),
    )
    expected, history = copies(decaying), []
    for step in range(10):
        before = copies(plain)
        for optimizer in optimizers:
            train(optimizer, [step])
        for index, parameter in enumerate(plain):
            touched = torch.ones_like(parameter)
            if parameter.grad.is_sparse:
                touched = torch.zeros_like(parameter)
                touched[parameter.grad.coalesce().indices()[0]] = 1
            update = (
                before[index] - parameter.detach() + lr * weight_decay * touched * expected[index]
            )
            expected[index] = expected[index] - update
        history.append(expected.copy())
    for parameter, weights in zip(decaying, expected, strict=True):
        torch.testing.assert_close(parameter.detach(), weights, rtol=1e-10, atol=1e-12)
    assert optimizers[1].load_average()
    for index, parameter in enumerate(decaying):
        mean = torch.stack([weights[index] for weights in history[3:]]).mean(dim=0)
        torch.testing.assert_close(parameter.detach(), mean, rtol=1e-10, atol=1e-12)


def test_groups_decay_each_by_its_own_factor(kind):
    weights, biases = (torch.nn.Parameter(torch.full((4,), 2.0)) for _ in range(2))
    optimizer = kind(
        [{"params": [weights]}, {"params": [biases], "weight_decay": 0.0}], lr=0.5, weight_decay=0.1
    )
    weights.grad, biases.grad = torch.zeros(4), torch.zeros(4)
    optimizer.step()
    assert torch.equal(biases.detach(), torch.full((4,), 2.0))
    torch.testing.assert_close(weights.detach(), torch.full((4,), 2.0 * 0.95))


@pytest.mark.usefixtures("_each_backend")
@pytest.mark.parametrize("shape", [(), (2, 3)])
@pytest.mark.parametrize("first", ["sparse", "dense"])
def test_sparse_and_dense_gradients_in_turn_are_gradients_of_rows(kind, shape, first):
    tables = [torch.nn.Parameter(torch.ones(N_ROWS, *shape, dtype=torch.float64)) for _ in range(2)]
    history = []
    optimizers = [kind([table], lr=0.3, average_after=1) for table in tables]
    for step in range(8):
        gradient = some_rows(4, shape) * (step + 1)  # of all rows
        is_sparse = (step + (first == "dense")) % 2 == 0
        tables[0].grad = gradient if is_sparse else gradient.to_dense()
        tables[1].grad = gradient
        for optimizer in optimizers:
            optimizer.step()
        history.append(tables[0].detach().clone())
        if step == 0:  # from an accumulator for each element the first step has other lengths
            tables[1].data = tables[0].data.clone()
    torch.testing.assert_close(*tables)
    states = [optimizer.state[table] for optimizer, table in zip(optimizers, tables, strict=True)]
    for key in {"sum", "mean", "square", "steps"} & set(states[1]):
        torch.testing.assert_close(states[0][key], states[1][key])
    assert optimizers[0].load_average()
    torch.testing.assert_close(tables[0].detach(), torch.stack(history[1:]).mean(dim=0))


def test_parameters_without_elements_are_skipped(kind):
    for shape in ((5, 0), (0, 3), (0,)):
        parameter = torch.nn.Parameter(torch.empty(shape))
        optimizer = kind([parameter], average_after=0)
        for gradient in (torch.zeros(shape), torch.zeros(shape).to_sparse(1)):
            parameter.grad = gradient
            optimizer.step()
        assert not optimizer.load_average()


@pytest.mark.usefixtures("_each_backend")
def test_gradients_that_come_late_or_stay_away_are_averaged_too(kind):
    late, never, gone = (
        torch.nn.Parameter(torch.ones(N_ROWS, 3, dtype=torch.float64)) for _ in range(3)
    )
    optimizer, history = kind([late, never, gone], lr=0.3, average_after=2), []
    for step in range(9):
        late.grad = some_rows(step) if step > 4 else None
        gone.grad = some_rows(step) if step < 5 else None
        optimizer.step()
        history.append(copies([late, gone]))
    assert optimizer.load_average()
    assert (never == 1).all()
    for index, parameter in enumerate((late, gone)):
        mean = torch.stack([weights[index] for weights in history[2:]]).mean(dim=0)
        assert (mean != 1).any()
        torch.testing.assert_close(parameter.detach(), mean, rtol=1e-10, atol=1e-12)


@pytest.mark.usefixtures("_each_backend")
def test_groups_are_averaged_each_from_its_own_step(kind):
    first, second = (torch.nn.Parameter(torch.ones(4, dtype=torch.float64)) for _ in range(2))
    optimizer = kind(
        [{"params": [first], "average_after": 2}, {"params": [second]}], lr=0.3, average_after=None
    )
    history = []
    for _ in range(5):
        first.grad, second.grad = torch.ones_like(first), torch.ones_like(second)
        optimizer.step()
        history.append(first.detach().clone())
    last = second.detach().clone()
    assert optimizer.load_average()
    torch.testing.assert_close(first.detach(), torch.stack(history[2:]).mean(dim=0))
    assert torch.equal(second, last)


@pytest.mark.usefixtures("_each_backend")
@pytest.mark.parametrize("average_after", [None, 5, 4])
def test_without_an_average_the_weights_stay(kind, average_after):
    parameters = make_parameters()
    assert not kind(parameters, average_after=average_after).load_average()
    optimizer = kind(parameters, average_after=average_after)
    train(optimizer, range(5))
    weights = copies(parameters)
    assert any("average_offset" in state for state in optimizer.state.values()) == (
        average_after == 4
    )
    assert optimizer.load_average() == (average_after == 4)  # the mean over the last step alone
    assert all(map(torch.equal, parameters, weights))


@pytest.mark.usefixtures("_each_backend")
def test_an_average_is_loaded_once_and_averaging_ends(kind):
    parameters = make_parameters()
    optimizer = kind(parameters, lr=0.3, average_after=1)
    train(optimizer, range(6))
    assert optimizer.load_average()
    mean = copies(parameters)
    assert not optimizer.load_average()
    assert all(map(torch.equal, parameters, mean))
    train(optimizer, range(6, 8))
    assert not optimizer.load_average()
    assert not all(map(torch.equal, parameters, mean))


def test_an_average_of_weights_in_any_layout(kind):
    whole = torch.randn(3, 4, 2, 2, dtype=torch.float64)
    parameters = [
        torch.nn.Parameter(whole.clone(memory_format=layout))
        for layout in (torch.contiguous_format, torch.channels_last)
    ]
    for parameter in parameters:
        optimizer = kind([parameter], average_after=0)
        train(optimizer, range(4))
        optimizer.load_average()
    assert not parameters[1].is_contiguous()
    torch.testing.assert_close(*parameters)


@pytest.mark.usefixtures("_each_backend")
@pytest.mark.parametrize("through_pickle", [True, False])
def test_training_resumes_from_a_stored_state(kind, through_pickle):
    parameters = make_parameters()
    optimizer = kind(parameters, lr=0.3, average_after=2)
    train(optimizer, range(5))
    if through_pickle:
        others, other = pickle.loads(pickle.dumps((parameters, optimizer)))
        assert all(map(torch.equal, others, parameters))
    else:
        others = [torch.nn.Parameter(weights) for weights in copies(parameters)]
        other = kind(others)
        other.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    for each in (optimizer, other):
        train(each, range(5, 9))
    assert all(map(torch.equal, parameters, others))
    assert optimizer.load_average()
    assert other.load_average()
    assert all(map(torch.equal, parameters, others))


@pytest.mark.usefixtures("_each_backend")
def test_a_stored_state_is_converted_to_the_dtype_of_its_parameters(kind):
    optimizer = kind(make_parameters(), lr=0.3, average_after=2)
    train(optimizer, range(5))
    parameters = make_parameters(torch.float32)
    other = kind(parameters)
    other.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    tensors = [
        part
        for state in other.state.values()
        for part in state.values()
        if isinstance(part, torch.Tensor)
    ]
    assert {tensor.dtype for tensor in tensors} == {torch.float32}
    train(other, range(5, 9))
    assert all(parameter.isfinite().all() for parameter in parameters)


@pytest.mark.parametrize("other", FORMULAS)
def test_the_state_of_another_optimizer_is_refused_when_it_is_loaded(kind, other):
    table = torch.nn.Parameter(torch.ones(N_ROWS, 3, dtype=torch.float64))
    optimizers = kind([table]), other([table])
    train(optimizers[1], [1])
    if kind is other:
        optimizers[0].load_state_dict(optimizers[1].state_dict())
    else:
        with pytest.raises(
            ValueError, match=rf"^{kind.__name__}: the state is of another optimizer: .* is "
        ):
            optimizers[0].load_state_dict(optimizers[1].state_dict())
    optimizers[0].step()
    # of torch's
    options = {"lr": 0.1, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0, "params": [0]}
    with pytest.raises(ValueError, match=r"of another optimizer: average_after, steps is missing"):
        kind([table]).load_state_dict({"state": {}, "param_groups": [options]})


@pytest.mark.parametrize("rows", [[1, 4, 7], [7, 1, 4], [4, 1, 4], [1, 4, 4], [0], []])
def test_ascending_rows_are_coalesced_without_a_copy(rows):
    values = torch.arange(1.0, 2 * len(rows) + 1).reshape(-1, 2)
    gradient = torch.sparse_coo_tensor(
        torch.tensor([rows], dtype=torch.int64), values, (9, 2), check_invariants=True
    )
    expected = gradient.to_dense()
    result = coalesced(gradient)
    assert result.is_coalesced()
    assert result.indices()[0].tolist() == sorted(set(rows))
    assert torch.equal(result.to_dense(), expected)
    assert (result.values().data_ptr() == values.data_ptr()) == (rows == sorted(set(rows)))


def test_gradients_accumulate_after_a_step(kind):
    def lose(bag, ids):
        bag(torch.tensor(ids), torch.tensor([0, len(ids)])).square().sum().backward()

    torch.manual_seed(0)
    bag = HashEmbeddingBag(40, 3, num_buckets=11, sparse=True, dtype=torch.float64)
    plain = HashEmbeddingBag(40, 3, num_buckets=11, dtype=torch.float64)
    plain.load_state_dict(bag.state_dict())
    lose(bag, [1, 2, 3])
    kind(bag.parameters(), lr=0.0).step()  # marks the gradient as coalesced
    assert bag.pool.grad.is_coalesced()
    lose(plain, [1, 2, 3])
    for ids in ([9, 1, 1], [4]):
        lose(bag, ids)
        lose(plain, ids)
    gradients = [coalesced(table.grad).to_dense() for table in bag.parameters()]
    torch.testing.assert_close(
        gradients, [table.grad for table in plain.parameters()], rtol=1e-11, atol=1e-12
    )


def test_zero_grad_resets_or_fills_with_zeros(kind):
    table, weights, idle = (
        torch.nn.Parameter(torch.ones(N_ROWS, 3, dtype=torch.float64)) for _ in range(3)
    )
    optimizer = kind([table, weights, idle])
    for set_to_none in (True, False):
        table.grad, weights.grad = some_rows(1), torch.ones_like(weights)
        optimizer.zero_grad(set_to_none)
        assert table.grad is None
        assert idle.grad is None
        assert weights.grad is None if set_to_none else not weights.grad.any()
    optimizer.step()
    assert (table == 1).all()
    assert (weights == 1).all()


def test_closures_and_parameter_groups(kind):
    first, second = (torch.nn.Parameter(torch.ones(2)) for _ in range(2))
    optimizer = kind([first], lr=0.1)
    optimizer.add_param_group({"params": [second], "lr": 0.5})
    with pytest.raises(ValueError, match="more than one parameter group"):
        optimizer.add_param_group({"params": [first]})

    def closure():
        optimizer.zero_grad()
        loss = (first + second).sum()
        loss.backward()
        return loss

    assert optimizer.step(closure).item() == 4
    torch.testing.assert_close(first.detach(), torch.full((2,), 0.9))
    torch.testing.assert_close(second.detach(), torch.full((2,), 0.5))


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        *((kind, {"lr": -1}, "lr must not be negative, got -1") for kind in FORMULAS),
        (RowwiseAdagrad, {"eps": -1}, "eps must not be negative, got -1"),
        (
            RowwiseAdagrad,
            {"average_after": -1},
            "average_after must be None or not negative, got -1",
        ),
        (RowwiseAdagrad, {"weight_decay": -1}, "weight_decay must not be negative, got -1"),
        (
            RowwiseAdam,
            {"betas": (-0.1, 0.9)},
            r"betas must be at least 0 and less than 1, got \(-0.1, 0.9\)",
        ),
        (RowwiseAdam, {"betas": (0.9, 1.0)}, r"less than 1, got \(0.9, 1.0\)"),
    ],
)
def test_wrong_settings_are_refused(kind, settings, message):
    with pytest.raises(ValueError, match=message):
        kind([torch.nn.Parameter(torch.ones(2))], **settings)


def test_a_gradient_without_rows_is_refused(kind):
    table = torch.nn.Parameter(torch.ones(4, 2))
    table.grad = torch.eye(4, 2).to_sparse()
    message = r"sparse along its first axis alone, got one of shape \(4, 2\) with 2 sparse axes"
    with pytest.raises(ValueError, match=message):
        kind([table]).step()


@pytest.mark.gpu
def test_cuda_takes_the_same_steps(kind):
    trained = []
    for device in ("cpu", "cuda"):
        parameters = [
            torch.nn.Parameter(weights.to(device)) for weights in copies(make_parameters())
        ]
        optimizer = kind(parameters, lr=0.3, average_after=2)
        for step in range(8):
            for parameter in parameters[: len(ROW_SHAPES)]:
                parameter.grad = some_rows(step, parameter.shape[1:]).to(device)
            optimizer.step()
            if step == 4:
                optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))
        assert optimizer.load_average()
        trained.append(copies(parameters))
    for ours, theirs in zip(*trained, strict=True):
        torch.testing.assert_close(ours, theirs.cpu(), rtol=1e-10, atol=1e-12)


@pytest.mark.usefixtures("_each_backend")
@pytest.mark.parametrize("average_after", [None, 1])
def test_row_gradients_take_the_same_steps_as_sparse_ones(kind, average_after):
    tables = [torch.ones(N_ROWS, 3, dtype=torch.float64, requires_grad=True) for _ in range(2)]
    one, other = (kind([table], lr=0.1, average_after=average_after) for table in tables)
    for step in range(5):
        gradient = some_rows(step).coalesce()
        tables[0].grad = gradient
        one.step()
        rows = RowGradients(gradient.indices()[0].numpy(), gradient.values().numpy())
        other.step(row_gradients={tables[1]: rows})
        assert torch.equal(*tables)
        assert tables[1]._version == tables[0]._version
    assert one.load_average() == other.load_average() == (average_after is not None)
    assert torch.equal(*tables)
    assert (tables[0] != 1).any()
