"""Sign random projections of sparse rows in torch, on any device."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from sklearn_hashnlp._constraints import check_parameters, check_shape, integer, number, one_of
from sklearn_hashnlp.kernels.projections._hyperplanes import (
    GOOGLE,
    GROUP,
    KINDS,
    NORMAL,
    PRIME,
    QUANTILES,
    Hyperplanes,
)
from sklearn_hashnlp.nn._compiled_bag import check_bags
from sklearn_hashnlp.nn._hashing import LOW_32_BITS, check_integers, mix_tensor

HyperplaneKind: TypeAlias = Literal["normal", "sign", "google"]
Output: TypeAlias = Literal["binary", "sign", "packed", "float"]
# Rows are projected in blocks, which limits temporary tensors to a few hundred MB.
_MAX_ROWS, _MAX_COEFFICIENTS = 4096, 2**22
_CONSTRAINTS = {
    "num_projections": integer(),
    "num_bits": integer(),
    "output": one_of(*get_args(Output)),
    "density": number(0, 1, above=True),
    "hyperplanes": one_of(*KINDS),
}


class SGNNProjection(nn.Module):
    """Project sparse rows to a few bits by random hyperplanes: ``text.SGNNProjector`` in torch.

    On every device the results are bitwise equal to :class:`sklearn_hashnlp.text.SGNNProjector`:
    sums are in float64, over the values of a row in the given order. There are no parameters to
    train, and no gradient flows to the weights.

    Parameters
    ----------
    num_projections : int, default=80
        T in the paper.
    num_bits : int, default=14
        Bits of each projection; d in the paper.
    output, density, hyperplanes
        As in :class:`sklearn_hashnlp.text.SGNNProjector`.
    seed : int, default=0
        Seed of the hyperplanes, taken modulo 2**64.
    device : torch.device or str, default=None
        Device of the computation.

    Attributes
    ----------
    output_dim : int
        Columns of the output: T d, or for ``"packed"`` an eighth of that, rounded up.

    References
    ----------
    .. [1] Ravi & Kozareva (2018). Self-governing neural networks for on-device short text
           classification. EMNLP, section 2.

    Examples
    --------
    >>> import torch
    >>> from sklearn_hashnlp.nn import SGNNProjection
    >>> projection = SGNNProjection(2, 4)
    >>> ids, offsets = torch.tensor([3, 2**40]), torch.tensor([0, 2, 2])
    >>> projection(ids, offsets, torch.tensor([1.0, 2.0])).tolist()
    [[0, 1, 0, 1, 1, 0, 1, 1], [0, 0, 0, 0, 0, 0, 0, 0]]
    """

    ties: Tensor
    quantiles: Tensor
    seeds: Tensor

    def __init__(
        self,
        num_projections: int = 80,
        num_bits: int = 14,
        *,
        output: Output = "binary",
        density: float = 1.0,
        hyperplanes: HyperplaneKind = "normal",
        seed: int = 0,
        device: torch.device | str | None = None,
    ) -> None:
        super().__init__()
        check_parameters("SGNNProjection", _CONSTRAINTS, locals())
        if density < 1 and hyperplanes == "google":
            raise ValueError(
                f"SGNNProjection: density must be 1 for hyperplanes='google', got {density!r}."
            )
        self.num_projections = num_projections
        self.num_bits = num_bits
        self.output = output
        self.density = density
        self.hyperplanes = hyperplanes
        self.seed = seed
        drawn = Hyperplanes.of(hyperplanes, num_projections * num_bits, density=density, seed=seed)
        self._kind = drawn.kind
        self._n = drawn.n
        self._threshold = drawn.threshold
        self._scale = drawn.scale
        self._keys = drawn.keys.tolist()
        for name, array in (
            ("ties", drawn.ties != 0),
            ("quantiles", QUANTILES),
            ("seeds", drawn.seeds),
        ):
            self.register_buffer(name, torch.tensor(array, device=device), persistent=False)

    @property
    def output_dim(self) -> int:
        """Columns of the output."""
        return -(-self._n // 8) if self.output == "packed" else self._n

    def forward(
        self, ids: Tensor, offsets: Tensor, per_sample_weights: Tensor | None = None
    ) -> Tensor:
        """Project sparse rows.

        Parameters
        ----------
        ids : Tensor of shape (n_values,), any integer dtype
            Column indices of all rows, concatenated. To reproduce ``text.SGNNProjector``, they must
            be sorted within each row and without duplicates.
        offsets : Tensor of shape (n_rows + 1,), dtype int64 or int32
            Start of each row in ``ids``, and the end of the last: scipy's ``indptr``.
        per_sample_weights : Tensor of shape (n_values,), default=None
            The values, which must be finite; None is all ones.

        Returns
        -------
        Tensor of shape (n_rows, output_dim), dtype uint8, int8 or float32
            All bits of a row that is empty or all zero are 0 (-1 for ``"sign"``).
        """
        check_bags("SGNNProjection", ids, offsets, per_sample_weights)
        check_integers("SGNNProjection", "ids", ids)
        if per_sample_weights is None:
            per_sample_weights = torch.ones_like(ids, dtype=torch.float64)
        ids, weights = ids.to(torch.int64), per_sample_weights.detach().to(torch.float64)
        streams = self._streams(ids)
        starts = offsets[:-1].to(torch.int64)
        if not len(starts):
            return self._finish(weights.new_empty(0, self._n), weights.new_empty(0))
        blocks = zip(
            torch.split(starts, _MAX_ROWS),
            torch.split(offsets.diff().cpu(), _MAX_ROWS),
            strict=True,
        )
        return torch.cat([self._project(streams, weights, *block) for block in blocks])

    def project_dense(self, rows: Tensor) -> Tensor:
        """Project the nonzero values of dense rows, (n_rows, n_columns), as :meth:`forward`."""
        check_shape("SGNNProjection", "rows", rows, "n_rows", "n_columns")
        row, column = rows.nonzero(as_tuple=True)
        offsets = torch.zeros(len(rows) + 1, dtype=torch.int64, device=rows.device)
        offsets[1:] = torch.bincount(row, minlength=len(rows)).cumsum(0)
        projections: Tensor = self(column, offsets, rows[row, column])
        return projections

    def project_arrays(
        self, indptr: NDArray[np.int64], indices: NDArray[np.int64], data: NDArray[np.float64]
    ) -> NDArray[Any]:
        """Project the rows of a CSR matrix of int64 and float64 arrays, as :meth:`forward`."""
        tensors = (
            torch.from_numpy(array).to(self.ties.device) for array in (indices, indptr, data)
        )
        projections: NDArray[Any] = self(*tensors).cpu().numpy()
        return projections

    def _streams(self, ids: Tensor) -> list[Tensor]:
        """Return each column's random streams: state and step, of coefficients and of density."""
        if self._kind == GOOGLE:
            return [ids.remainder(PRIME)]
        low, high = ids & LOW_32_BITS, (ids >> 32) & LOW_32_BITS
        starts = [mix_tensor(mix_tensor(low ^ key) ^ high) for key in self._keys]
        return [starts[0], starts[1] | 1, starts[2], starts[3] | 1]

    def _project(
        self, streams: list[Tensor], weights: Tensor, starts: Tensor, lengths: Tensor
    ) -> Tensor:
        """Project a block of rows."""
        # In descending order of length, the rows with a value at a given position are the first
        # ones.
        lengths, order = lengths.sort(descending=True, stable=True)
        order = order.to(weights.device)
        starts = starts[order]
        n_with = [int((lengths > position).sum()) for position in range(int(lengths[0]))]
        sums = weights.new_zeros(len(order), len(self.ties))
        sizes = weights.new_zeros(len(order))
        for position, n_rows in enumerate(n_with):
            sizes[:n_rows] += weights[starts[:n_rows] + position].abs()
        step = max(_MAX_COEFFICIENTS // len(order) // GROUP, 1) * GROUP
        for first in range(0, sums.shape[1], step):
            last = min(first + step, sums.shape[1])
            for position, n_rows in enumerate(n_with):
                indices = starts[:n_rows] + position
                # The product is rounded before the addition, as in the compiled kernel.
                sums[:n_rows, first:last] += (
                    self._coefficients(streams, indices, first, last) * weights[indices, None]
                )
        projected = self._finish(sums[:, : self._n], sizes)
        out = torch.empty_like(projected)
        out[order] = projected
        return out

    def _coefficients(
        self, streams: list[Tensor], indices: Tensor, first: int, last: int
    ) -> Tensor:
        """Return coefficients in the hyperplanes ``first`` to ``last``, multiples of GROUP."""
        if self._kind == GOOGLE:
            seeds = functional.pad(self.seeds, (0, len(self.ties) - self._n))
            residues = (streams[0][indices, None] * seeds[first:last]).remainder(PRIME)
            return torch.where(residues > PRIME // 2, residues - PRIME, residues).to(torch.float64)
        per_word = 4 if self._kind == NORMAL else GROUP
        words = _random_words(
            streams[0][indices], streams[1][indices], first // per_word, last // per_word
        )
        bits = 32 // per_word
        parts = (
            words.unsqueeze(-1) >> torch.arange(0, 32, bits, device=words.device) & (2**bits - 1)
        ).flatten(1)
        coefficients = (self.quantiles[parts] if self._kind == NORMAL else 2 * parts - 1).to(
            torch.float64
        )
        if self._threshold <= LOW_32_BITS:
            coefficients *= (
                _random_words(streams[2][indices], streams[3][indices], first, last)
                < self._threshold
            )
        return coefficients

    def _finish(self, sums: Tensor, sizes: Tensor) -> Tensor:
        """Return the output for sums; ``sizes`` are the sums of absolute values of the rows."""
        if self.output == "float":
            if self._kind != GOOGLE:
                return (sums * self._scale).to(torch.float32)
            return (sums * self._scale / torch.where(sizes > 0, sizes, 1.0)[:, None]).to(
                torch.float32
            )
        bits = ((sums > 0) | ((sums == 0) & self.ties[: self._n])) & (sizes > 0)[:, None]
        if self.output == "binary":
            return bits.to(torch.uint8)
        if self.output == "sign":
            return bits.to(torch.int8) * 2 - 1
        octets = functional.pad(bits.to(torch.uint8), (0, -self._n % 8)).reshape(
            len(bits), -(-self._n // 8), 8
        )
        powers = 2 ** torch.arange(7, -1, -1, device=bits.device, dtype=torch.uint8)
        packed: Tensor = (octets * powers).sum(dim=2, dtype=torch.uint8)
        return packed

    def get_extra_state(self) -> Tensor:
        """Return the parameters of the projection, for ``state_dict``."""
        density = int(np.float64(self.density).view(np.int64))
        seed = (self.seed + 2**63) % 2**64 - 2**63
        kind, output = tuple(KINDS).index(self.hyperplanes), get_args(Output).index(self.output)
        numbers = [self.num_projections, self.num_bits, kind, density, seed, output]
        return torch.tensor(numbers, dtype=torch.int64, device="cpu")

    def set_extra_state(self, state: Tensor) -> None:
        """Check that a state has the same projection."""
        if (own := self.get_extra_state().tolist()) == (other := state.tolist()):
            return
        names = ("num_projections", "num_bits", "hyperplanes", "density", "seed", "output")
        different = [name for name, mine, its in zip(names, own, other, strict=True) if mine != its]
        raise ValueError(
            f"SGNNProjection: the state is of a projection that differs in {', '.join(different)} "
            f"from this one, {self}. Build it with the parameters of the state."
        )

    def extra_repr(self) -> str:
        """Describe the module in ``repr``."""
        return (
            f"{self.num_projections}, {self.num_bits}, output={self.output!r}, "
            f"density={self.density}, hyperplanes={self.hyperplanes!r}, seed={self.seed}"
        )


def _random_words(states: Tensor, steps: Tensor, first: int, last: int) -> Tensor:
    """Return the random 32-bit words ``first`` to ``last`` of each column."""
    return mix_tensor(
        states[:, None] + steps[:, None] * torch.arange(first, last, device=states.device)
    )
