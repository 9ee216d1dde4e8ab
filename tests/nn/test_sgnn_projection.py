"""The torch projection against the compiled one, bit for bit."""

import copy

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.kernels.projections._hyperplanes import Hyperplanes
from sklearn_hashnlp.nn import SGNNProjection, _sgnn_projection

from ..kernels.projections.test_project_rows import KINDS, as_arrays, project, sparse_rows

FORMS = {"binary": "bits", "sign": "signs", "packed": "packed", "float": "sums"}


def tensors(rows):
    """Return ids, offsets and weights of a few rows."""
    offsets, ids, weights = as_arrays(rows)
    return tuple(map(torch.from_numpy, (ids, offsets, weights)))


def compiled(rows, output, **hyperplanes):
    return project(rows, Hyperplanes.of(**hyperplanes), FORMS[output])


def assert_same(projections, expected):
    assert projections.cpu().numpy().dtype == expected.dtype
    np.testing.assert_array_equal(projections.cpu().numpy(), expected)


@given(
    rows=sparse_rows(),
    kind=st.sampled_from(KINDS),
    output=st.sampled_from(list(FORMS)),
    sizes=st.tuples(st.integers(1, 6), st.integers(1, 15)),
    density=st.sampled_from([1.0, 0.4]),
    seed=st.integers(0, 2**64 - 1),
)
def test_projections_are_those_of_the_kernels_bit_for_bit(rows, kind, output, sizes, density, seed):
    density = 1.0 if kind == "google" else density
    projection = SGNNProjection(*sizes, output=output, hyperplanes=kind, density=density, seed=seed)
    expected = compiled(rows, output, kind=kind, n=sizes[0] * sizes[1], density=density, seed=seed)
    assert_same(projection(*tensors(rows)), expected)
    assert projection.output_dim == expected.shape[1]


def many_rows(seed=0):
    rng = np.random.default_rng(seed)
    columns = (
        np.sort(rng.choice(2**40, length, replace=False)) for length in rng.integers(0, 30, 50)
    )
    return [[(int(column), rng.normal()) for column in row] for row in columns]


@pytest.mark.parametrize("kind", KINDS)
def test_blocks_change_nothing(monkeypatch, kind):
    rows = many_rows()
    expected = compiled(rows, "float", kind=kind, n=1120)
    projection = SGNNProjection(output="float", hyperplanes=kind)
    assert_same(projection(*tensors(rows)), expected)
    monkeypatch.setattr(_sgnn_projection, "_MAX_ROWS", 7)
    monkeypatch.setattr(_sgnn_projection, "_MAX_COEFFICIENTS", 7 * 96)
    assert_same(projection(*tensors(rows)), expected)


@pytest.mark.gpu
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("output", list(FORMS))
@pytest.mark.parametrize("density", [1.0, 0.3])
def test_cuda_gives_the_same_bits(kind, output, density):
    density = 1.0 if kind == "google" else density
    rows = many_rows()
    projection = SGNNProjection(output=output, hyperplanes=kind, density=density).to("cuda")
    projections = projection(*(tensor.to("cuda") for tensor in tensors(rows)))
    assert projections.is_cuda
    assert_same(projections, compiled(rows, output, kind=kind, n=1120, density=density))


def test_dense_rows_are_projected_as_sparse_ones():
    rows = torch.tensor([[0.0, 2.5, 0.0, -1.0], [0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]])
    projection = SGNNProjection(4, 5)
    ids, offsets = torch.tensor([1, 3, 0, 1, 2, 3]), torch.tensor([0, 2, 2, 6])
    weights = torch.tensor([2.5, -1.0, 1.0, 1.0, 1.0, 1.0])
    assert torch.equal(projection.project_dense(rows), projection(ids, offsets, weights))
    assert torch.equal(
        projection.project_dense(rows[2:].int()), projection(ids[2:], torch.tensor([0, 4]))
    )


def test_it_is_a_module_without_parameters():
    projection = SGNNProjection(2, 3, hyperplanes="google")
    assert not list(projection.parameters())
    assert list(projection.state_dict()) == ["_extra_state"]
    ids, offsets = torch.tensor([5, 9]), torch.tensor([0, 2])
    weights = torch.tensor([1.0, 2.0], requires_grad=True)
    assert not projection(ids, offsets, weights).requires_grad
    assert torch.equal(copy.deepcopy(projection)(ids, offsets), projection(ids, offsets))
    assert repr(projection) == (
        "SGNNProjection(2, 3, output='binary', density=1.0, hyperplanes='google', seed=0)"
    )


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"num_projections": 0}, "num_projections must be an integer of at least 1, got 0"),
        ({"num_bits": -1}, "num_bits must be an integer of at least 1, got -1"),
        ({"output": "bits"}, "output must be one of"),
        ({"hyperplanes": "gaussian"}, "hyperplanes must be one of"),
        ({"density": 0.0}, r"density must be a number above 0 and at most 1"),
        ({"density": 0.5, "hyperplanes": "google"}, "must be 1 for hyperplanes='google', got 0.5"),
    ],
    ids=str,
)
def test_wrong_parameters_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        SGNNProjection(**parameters)


@pytest.mark.parametrize(
    ("options", "name"),
    [({"seed": 1}, "seed"), ({"hyperplanes": "sign"}, "hyperplanes"), ({"density": 0.5}, "density"),
     ({"output": "sign"}, "output")],
)  # fmt: skip
def test_a_checkpoint_is_not_loaded_above_other_random_projections(options, name):
    with pytest.raises(ValueError, match=f"differs in {name} from this one"):
        SGNNProjection(2, 4, **options).load_state_dict(SGNNProjection(2, 4).state_dict())
    SGNNProjection(2, 4, seed=2**64 - 1).load_state_dict(SGNNProjection(2, 4, seed=-1).state_dict())
    with pytest.raises(RuntimeError, match=r'Missing key.*"_extra_state"'):
        SGNNProjection(2, 4).load_state_dict({})


def test_wrong_rows_are_refused():
    projection = SGNNProjection(2, 2)
    with pytest.raises(ValueError, match="for 3 ids the last is 4"):
        projection(torch.arange(3), torch.tensor([0, 2, 4]))
    with pytest.raises(TypeError, match=r"ids must have an integer dtype, got torch\.float32"):
        projection(torch.ones(3), torch.tensor([0, 3]))
    with pytest.raises(ValueError, match=r"rows must have shape \(n_rows, n_columns\), got \(3,\)"):
        projection.project_dense(torch.ones(3))
