"""Hierarchical softmax: an output layer with a cost proportional to a path's length in a tree."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal, Self, TypeAlias, get_args

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from sklearn_hashnlp._constraints import check_parameters, check_shape, integer, one_of
from sklearn_hashnlp._hash_specification import hash_constants
from sklearn_hashnlp._idf import map_distinct
from sklearn_hashnlp._threads import map_blocks
from sklearn_hashnlp.kernels.trees._paths import UpwardTree
from sklearn_hashnlp.kernels.trees._search import TreeScorer, descend, search_best
from sklearn_hashnlp.nn._compiled_tree import CompiledPaths, runs_compiled
from sklearn_hashnlp.nn._hashing import check_integers
from sklearn_hashnlp.nn._softmax_layers import (
    REDUCTION,
    SoftmaxOutput,
    at_least_float32,
    check_input,
    check_target,
    flatten_rows,
    keep_rows,
    make_output,
    smoothed_counts,
    unflatten_rows,
)
from sklearn_hashnlp.nn._tensors import CheckedState
from sklearn_hashnlp.nn._tree_torch import (
    PathTensors,
    Scorer,
    TreeTensors,
    all_log_probs,
    all_scores,
    path_log_probs,
)
from sklearn_hashnlp.trees import SoftmaxTree

Search: TypeAlias = Literal["exact", "greedy"]

_BLOCK = 2**24  # maximum number of scores in memory
_MIN_ROWS = 16  # minimum rows per thread
_CONSTRAINTS = {
    "in_features": integer(),
    "n_direct": integer(0, 2**31 - 1),
    "reduction": REDUCTION,
}


class HierarchicalSoftmax(CheckedState):
    r"""Predict a class by a classifier at each inner node on its path from the root of a tree.

    The probability of a class is the product of the probabilities of the branches on its path [1]_.
    At an inner node with two children, the right child (child 1) has the probability sigmoid(w x +
    b); at any other node, child j has softmax(W x + b)_j. In a binary tree, with the branches c_i
    (0 or 1) at the nodes n_i of the path of class y:

    .. math::
        P(y \mid x) = \prod_i P(c_i \mid n_i, x), \quad
        P(1 \mid n, x) = \sigma(w_n \cdot x + b_n) = 1 - P(0 \mid n, x)

    Training on a row needs the scores of one path, about log2(V) in a binary tree, instead of the V
    scores of a full softmax.

    With hashed direct connections, the features of a row, such as hashes of its last words, add
    weights from a table of size ``n_direct`` to the scores, without a hidden layer [2]_. They add
    to score j of node i

    .. math:: \sum_f \mathrm{direct}[(\mathrm{slot}(f, i) + j) \bmod n_{\mathrm{direct}}]

    with slot(f, i) the hash of the key ``fmix32(f) + i * 0x9E3779B1`` (modulo 2**32) by the hash
    function of ``direct_seed``. Different features may collide.

    On the CPU, in float32 and float64, compiled kernels compute :meth:`forward`, search and
    sampling; the results do not depend on the number of threads. On other devices and in compiled
    programs, plain torch is used.

    Parameters
    ----------
    tree : SoftmaxTree
        A tree of V classes, which cannot be changed later. :meth:`state_dict` contains its digest
        instead of the tree, so save ``tree.to_arrays()`` as well. Loading the state of another tree
        raises an error.
    in_features : int
        Number of input columns.
    n_direct : int, default=0
        Size of the table of direct connections, at most 2**31 - 1; 0 disables them.
    direct_seed : int, default=0
        Seed of the hash function of the table.
    ignore_index : int, default=-100
        Rows with this target, such as padding, are excluded from the loss and have no gradient;
        None ignores nothing.
    reduction : {"mean", "sum", "none"}, default="mean"
        Reduction of the losses of the rows.
    sparse : bool, default=False
        Whether the gradients of all parameters are coalesced sparse tensors of the visited nodes.
        With :class:`sklearn_hashnlp.optim.RowwiseAdagrad` or
        :class:`sklearn_hashnlp.optim.RowwiseAdam`, the cost of a training step then depends on the
        length of its paths, not on V.
    device, dtype : default=None
        Device and dtype of the parameters.

    Attributes
    ----------
    n_classes : int
        V.
    weight : Parameter of shape (tree.n_scores, in_features)
        Node i has the rows ``tree.score_offsets[i] : tree.score_offsets[i + 1]``. Initialized
        uniformly in +-0.1 / sqrt(in_features): all branches of a node are about equally probable,
        so a Huffman tree starts near the class frequencies.
    bias : Parameter of shape (tree.n_scores,)
        Initialized with zeros; :meth:`init_bias` sets it from class counts.
    direct : Parameter of shape (n_direct,) or None
        Initialized with zeros; None if ``n_direct`` is 0.

    See Also
    --------
    FullSoftmax : The same methods at the cost of V scores per row.
    torch.nn.AdaptiveLogSoftmaxWithLoss : Torch's layer for many classes; its output has the same
        fields.

    References
    ----------
    .. [1] Morin & Bengio (2005). Hierarchical probabilistic neural network language model. AISTATS,
           section 3.
    .. [2] Mikolov, Deoras, Povey, Burget & Cernocky (2011). Strategies for training large scale
           neural network language models. ASRU, section 5.

    Examples
    --------
    >>> import torch
    >>> from sklearn_hashnlp.nn import HierarchicalSoftmax
    >>> from sklearn_hashnlp.trees import complete_tree
    >>> layer = HierarchicalSoftmax(complete_tree(1000), 16)
    >>> inputs = torch.randn(4, 16)
    >>> result = layer(inputs, torch.tensor([3, 7, 999, 3]))
    >>> result.output.shape, result.loss.shape
    (torch.Size([4]), torch.Size([]))
    >>> best, classes = layer.topk(inputs, 5)
    >>> torch.allclose(best, layer.log_prob(inputs).topk(5).values)
    True
    """

    def __init__(
        self,
        tree: SoftmaxTree,
        in_features: int,
        *,
        n_direct: int = 0,
        direct_seed: int = 0,
        ignore_index: int | None = -100,
        reduction: str = "mean",
        sparse: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        if not isinstance(tree, SoftmaxTree):
            raise TypeError(
                f"HierarchicalSoftmax: tree must be a SoftmaxTree, got {type(tree).__name__}."
            )
        check_parameters("HierarchicalSoftmax", _CONSTRAINTS, locals())
        self.tree = tree
        self.n_classes = tree.n_classes
        self.in_features = in_features
        self.n_direct = n_direct
        self.direct_seed = direct_seed
        self.ignore_index = ignore_index
        self.reduction = reduction
        self.sparse = sparse
        self.weight = nn.Parameter(
            torch.empty((tree.n_scores, in_features), device=device, dtype=dtype)
        )
        self.bias = nn.Parameter(torch.empty(tree.n_scores, device=device, dtype=dtype))
        self.direct: nn.Parameter | None
        self.register_parameter(
            "direct",
            nn.Parameter(torch.empty(n_direct, device=device, dtype=dtype)) if n_direct else None,
        )
        # Parents of classes and nodes, shared by kernels and plain torch.
        self.class_up: Tensor
        self.node_up: Tensor
        self.first_rows: Tensor
        for name, array in self._upward_arrays().items():
            self.register_buffer(
                name, torch.from_numpy(array).to(self.weight.device), persistent=False
            )
        widths = np.diff(tree.score_offsets)
        self._max_scores, self._root_width = int(widths.max(initial=1)), int(widths[:1].sum())
        self._width_below = int(widths[1:].max(initial=1))
        self._is_binary = tree.is_binary
        self._max_depth = tree.max_depth
        # features have no high half
        self._constants = hash_constants(direct_seed, 1)[0][:2] if n_direct else (0, 0)
        self._tensors: dict[torch.device, TreeTensors] = {}
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialize all parameters."""
        bound = 0.1 / math.sqrt(self.in_features)
        nn.init.uniform_(self.weight, -bound, bound)
        nn.init.zeros_(self.bias)
        if self.direct is not None:
            nn.init.zeros_(self.direct)

    @torch.no_grad()
    def init_bias(self, counts: ArrayLike) -> None:
        """Set the biases to the log-odds of class counts, to start training near the frequencies.

        For an input of zeros, the probability of each class is then its share of the counts plus
        one.

        Parameters
        ----------
        counts : array-like of shape (V,)
            Class counts.
        """
        smoothed, tree = (
            smoothed_counts(counts, self.n_classes, "HierarchicalSoftmax.init_bias"),
            self.tree,
        )
        _, nodes, branches = tree.paths()
        path_counts = np.repeat(smoothed, tree.depths)
        branch_counts = np.bincount(
            tree.offsets[nodes] + branches, path_counts, minlength=len(tree.children)
        )
        log_counts, is_binary = (
            map_distinct(math.log, branch_counts),
            np.repeat(tree.arities == 2, tree.arities),
        )
        first = np.repeat(tree.offsets[:-1], tree.arities)  # first branch of the node
        totals = np.bincount(nodes, path_counts, minlength=tree.n_nodes)
        bias = log_counts - np.where(
            is_binary, log_counts[first], np.repeat(map_distinct(math.log, totals), tree.arities)
        )
        right = np.arange(len(first)) > first
        self.bias.copy_(torch.from_numpy(bias[right | ~is_binary]))

    def forward(
        self,
        input: Tensor,  # noqa: A002 - torch's name
        target: Tensor,
        features: Tensor | None = None,
    ) -> SoftmaxOutput:
        """Compute the log-probabilities of the target classes, and the loss.

        Parameters
        ----------
        input : Tensor of shape (..., in_features)
            Output of the layer below.
        target : Tensor of shape (...), any integer dtype
            The class of each row.
        features : Tensor of shape (..., n_features), any integer dtype, default=None
            Hashed features of the direct connections, of which the low 32 bits are used; negative
            numbers are ignored. Required if ``n_direct`` is not 0, otherwise None.

        Returns
        -------
        output : Tensor of shape (...)
            log P(target | input), 0 if the target is ``ignore_index``; float32, or float64 for
            float64 input.
        loss : Tensor of shape (), or (...) with ``reduction="none"``
            Negative log-likelihood; NaN for the mean over no rows.
        """
        inputs, features = self._check(input, features)
        shape = input.shape[:-1]
        target, keep = check_target(
            "HierarchicalSoftmax", target, shape, self.n_classes, self.ignore_index
        )
        inputs, features = (
            keep_rows(inputs, keep),
            None if features is None else keep_rows(features, keep),
        )
        return make_output(
            self._path_log_probs(inputs, target, features), keep, shape, self.reduction
        )

    def log_prob(self, input: Tensor, features: Tensor | None = None) -> Tensor:  # noqa: A002
        """Compute log-probabilities of all classes, (..., V), for arguments of :meth:`forward`."""
        inputs, features = self._check(input, features)
        return unflatten_rows(self._log_prob(inputs, features), input.shape[:-1])

    def _log_prob(self, inputs: Tensor, features: Tensor | None) -> Tensor:
        if not len(self.node_up):
            return at_least_float32(inputs[:, :0]).sum(dim=1, keepdim=True)
        scorer, tensors = self._scorer(), self._tensors_on(inputs.device)
        step = max(_BLOCK // self.n_classes, 1)
        if torch.is_grad_enabled() or len(inputs) <= step:
            return all_log_probs(scorer, tensors, inputs, features)
        dtype = torch.promote_types(inputs.dtype, torch.float32)
        result = torch.empty((len(inputs), self.n_classes), dtype=dtype, device=inputs.device)
        for start in range(0, len(inputs), step):
            block = slice(start, start + step)
            result[block] = all_log_probs(
                scorer, tensors, inputs[block], None if features is None else features[block]
            )
        return result

    def node_prob(self, input: Tensor, features: Tensor | None = None) -> Tensor:  # noqa: A002
        """Compute the probability of the right child at every inner node of a binary tree.

        The arguments are as in :meth:`forward`; the result has the shape (..., tree.n_nodes), in
        the order of the tree.
        """
        inputs, features = self._check(input, features)
        if not self.tree.is_binary:
            node = int(np.flatnonzero(self.tree.arities != 2)[0])
            raise ValueError(
                "HierarchicalSoftmax.node_prob needs a tree whose inner nodes all have two "
                f"children, but node {node} has {self.tree.arities[node]}; log_prob works for any "
                "tree."
            )
        scores = all_scores(self._scorer(), self._tensors_on(inputs.device), inputs, features)
        return unflatten_rows(scores.sigmoid(), input.shape[:-1])

    @torch.no_grad()
    def predict(
        self,
        input: Tensor,  # noqa: A002
        search: Search = "exact",
        features: Tensor | None = None,
    ) -> Tensor:
        """Predict a class for each row, int64 of shape (...).

        Parameters
        ----------
        input : Tensor of shape (..., in_features)
            Output of the layer below.
        search : {"exact", "greedy"}, default="exact"
            "exact" predicts the most probable class. "greedy" follows the most probable child of
            each node, the first at a tie (with two children the right one if its probability is
            above 0.5).
        features : Tensor of shape (..., n_features), default=None
            As for :meth:`forward`.
        """
        check_parameters("HierarchicalSoftmax", {"search": one_of(*get_args(Search))}, locals())
        if search == "exact":
            return self.topk(input, 1, features)[1].squeeze(-1)
        inputs, features = self._check(input, features)
        if runs_compiled(inputs, self.weight):
            classes = self._descend(inputs, features, np.empty(0))
        else:
            scorer = self._scorer()
            tensors = self._tensors_on(inputs.device)
            blocks = self._blocks(inputs, features)
            classes = torch.cat(
                [tensors.greedy(all_scores(scorer, tensors, *block)) for block in blocks]
            )
        return unflatten_rows(classes, input.shape[:-1])

    @torch.no_grad()
    def topk(self, input: Tensor, k: int, features: Tensor | None = None) -> tuple[Tensor, Tensor]:  # noqa: A002
        """Predict the k most probable classes, see :meth:`FullSoftmax.topk` and :meth:`forward`.

        On the CPU, a best-first search only computes the scores of nodes more probable than the
        k-th class. The order of equally probable classes is arbitrary.
        """
        check_parameters("HierarchicalSoftmax", {"k": integer(1, self.n_classes)}, locals())
        inputs, features = self._check(input, features)
        if not len(self.node_up) or not runs_compiled(inputs, self.weight):
            results = [
                self._log_prob(*block).topk(k, dim=1) for block in self._blocks(inputs, features)
            ]
            log_probs, classes = (torch.cat(parts) for parts in zip(*results, strict=True))
        else:
            log_probs, classes = self._search(inputs, features, k)
        return unflatten_rows(log_probs, input.shape[:-1]), unflatten_rows(
            classes, input.shape[:-1]
        )

    def topk_with_bound(self, inputs: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """Return the k most probable classes and k + 1 log-probabilities; the last is a bound."""
        if len(self.node_up) and runs_compiled(inputs, self.weight):
            return self._search(inputs, None, k, with_bound=True)
        log_probs = self._log_prob(inputs, None)
        best, classes = nn.functional.pad(log_probs, (0, 1), value=-torch.inf).topk(k + 1, dim=1)
        return best.clamp_min(torch.finfo(torch.float32).min), classes[:, :k]

    def _search(
        self, inputs: Tensor, features: Tensor | None, k: int, *, with_bound: bool = False
    ) -> tuple[Tensor, Tensor]:
        log_probs = torch.empty(
            (len(inputs), k + with_bound), dtype=inputs.dtype, device=inputs.device
        )
        classes = torch.empty((len(inputs), k), dtype=torch.int64, device=inputs.device)
        rows, columns, scorer = self._search_arrays(inputs, features)
        best, best_classes = log_probs.numpy(), classes.numpy()
        _map_rows(
            lambda block: search_best(
                rows[block], columns[block], scorer, best[block], best_classes[block]
            ),
            len(inputs),
        )
        return log_probs, classes

    @torch.no_grad()
    def sample(
        self,
        input: Tensor,  # noqa: A002
        features: Tensor | None = None,
        *,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Sample a class for each row, see :meth:`FullSoftmax.sample` and :meth:`forward`."""
        inputs, features = self._check(input, features)
        if runs_compiled(inputs, self.weight):
            draws = torch.rand(
                len(inputs), dtype=torch.float64, device=inputs.device, generator=generator
            )
            classes = self._descend(inputs, features, draws.numpy())
        else:
            blocks = (self._log_prob(*block).exp() for block in self._blocks(inputs, features))
            classes = torch.cat(
                [torch.multinomial(block, 1, generator=generator).squeeze(1) for block in blocks]
            )
        return unflatten_rows(classes, input.shape[:-1])

    def get_extra_state(self) -> Tensor:
        """Return the tree's digest and the direct connections' seed, for ``state_dict``."""
        seed = (self.direct_seed + 2**63) % 2**64 - 2**63 if self.n_direct else 0
        return torch.tensor([self.tree.digest, seed], dtype=torch.int64, device="cpu")

    def set_extra_state(self, state: Tensor) -> None:
        """Check that a state has the tree of this layer."""
        own, other = self.get_extra_state().tolist(), state.tolist()
        if own[0] != other[0]:
            raise ValueError(
                "HierarchicalSoftmax: the state is of a layer with another tree than "
                f"{self.tree!r}, in which the classes have other paths. Build the layer with the "
                "tree of the state."
            )
        if own != other:
            raise ValueError(
                f"HierarchicalSoftmax: the state is of a layer with direct_seed={other[1]} modulo "
                f"2**64, this layer has {own[1]}."
            )

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, *args: Any, **kwargs: Any
    ) -> None:
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)
        # Devices differ with assign=True, such as into a layer on the meta device.
        if self.class_up.device != self.weight.device:
            for name, array in self._upward_arrays().items():
                setattr(self, name, torch.from_numpy(array).to(self.weight.device))

    def _check(self, input: Tensor, features: Tensor | None) -> tuple[Tensor, Tensor | None]:  # noqa: A002
        """Return the input and the features as rows, or raise an error."""
        who = "HierarchicalSoftmax:"
        rows, shape = check_input("HierarchicalSoftmax", input, self.in_features), input.shape[:-1]
        if rows.dtype != self.weight.dtype:
            if not (torch.is_autocast_enabled(rows.device.type) and rows.dtype.is_floating_point):
                raise TypeError(
                    f"{who} input must have the weight's dtype {self.weight.dtype}, got "
                    f"{rows.dtype}."
                )
            rows = rows.to(self.weight.dtype)
        if features is None:
            if self.n_direct:
                raise ValueError(
                    f"{who} features of shape (..., n_features) are required with "
                    f"n_direct={self.n_direct}, got None. For rows without features pass negative "
                    "numbers, or n_features = 0."
                )
            return rows, None
        if not self.n_direct:
            raise ValueError(
                f"{who} features must be None without direct connections. Set n_direct to use them."
            )
        check_shape(
            "HierarchicalSoftmax",
            "features",
            features,
            *shape,
            "n_features",
            note=", as many rows as input",
        )
        check_integers("HierarchicalSoftmax", "features", features)
        return rows, flatten_rows(features).to(torch.int64)

    def _path_log_probs(self, inputs: Tensor, target: Tensor, features: Tensor | None) -> Tensor:
        """Compute the log-probability of the target of each row."""
        if not len(self.node_up):
            return at_least_float32(inputs[:, :0]).sum(dim=1)
        if not runs_compiled(inputs, self.weight):
            return path_log_probs(self._scorer(), self._path_tensors(), inputs, target, features)
        arguments = (inputs, self.weight, self.bias, self.direct, target, features)
        classes, nodes, rows = (
            buffer.numpy() for buffer in (self.class_up, self.node_up, self.first_rows)
        )
        trees = UpwardTree(classes, nodes, rows, self.tree.depths), self._path_tensors()
        return CompiledPaths.apply(*arguments, *trees, self._constants, self.sparse)  # type: ignore[no-any-return, no-untyped-call]

    def _blocks(self, rows: Tensor, features: Tensor | None) -> list[tuple[Tensor, Tensor | None]]:
        step = max(_BLOCK // self.n_classes, 1)
        parts = torch.split(rows, step)
        return list(
            zip(
                parts,
                [None] * len(parts) if features is None else torch.split(features, step),
                strict=True,
            )
        )

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]  # torch has no types for it
        # to_empty leaves arbitrary values in buffers; kernels would read out of bounds.
        for name, array in self._upward_arrays().items():
            getattr(self, name).copy_(torch.from_numpy(array))
        return self

    def _upward_arrays(self) -> dict[str, NDArray[Any]]:
        tree = self.tree
        return {
            "class_up": np.stack([tree.class_parent, tree.class_branch], axis=1).astype(np.int32),
            "node_up": np.stack([tree.node_parent, tree.node_branch], axis=1).astype(np.int32),
            "first_rows": tree.score_offsets.copy(),
        }

    def _path_tensors(self) -> PathTensors:
        sizes = self._max_depth, self._root_width, self._width_below, self._is_binary
        return PathTensors(self.class_up, self.node_up, self.first_rows, *sizes)

    def _tensors_on(self, device: torch.device) -> TreeTensors:
        if device not in self._tensors:
            self._tensors[device] = TreeTensors(self.tree, device)
        return self._tensors[device]

    def _scorer(self) -> Scorer:
        return Scorer(self.weight, self.bias, self.direct, self._constants, self.sparse)

    def _search_arrays(
        self, rows: Tensor, features: Tensor | None
    ) -> tuple[NDArray[Any], NDArray[Any], TreeScorer]:
        if features is None:
            features = torch.empty((len(rows), 0), dtype=torch.int64, device=rows.device)
        direct = self.weight[:0, 0] if self.direct is None else self.direct
        weight, bias, table = (
            tensor.detach().contiguous().numpy() for tensor in (self.weight, self.bias, direct)
        )
        tree, constants = self.tree, np.array(self._constants, dtype=np.uint64)
        shape = tree.children, tree.offsets, tree.score_offsets
        scorer = TreeScorer(*shape, weight, bias, table, constants, self._max_scores)
        return rows.detach().contiguous().numpy(), features.contiguous().numpy(), scorer

    def _descend(self, rows: Tensor, features: Tensor | None, draws: NDArray[np.float64]) -> Tensor:
        classes = torch.zeros(len(rows), dtype=torch.int64, device=rows.device)
        if len(self.node_up):
            inputs, columns, scorer = self._search_arrays(rows, features)
            results = classes.numpy()
            _map_rows(
                lambda part: descend(
                    inputs[part], columns[part], scorer, draws[part], results[part]
                ),
                len(rows),
            )
        return classes

    def extra_repr(self) -> str:
        """Describe the layer in ``repr``."""
        return f"{self.tree!r}, {self.in_features}, n_direct={self.n_direct}, sparse={self.sparse}"

    def __getstate__(self) -> dict[str, Any]:
        # Tensors derived from the tree are computed again when needed.
        return self.__dict__ | {"_tensors": {}}


def _map_rows(function: Callable[[slice], None], n_rows: int) -> None:
    map_blocks(function, n_rows, torch.get_num_threads(), min_rows=_MIN_ROWS)
