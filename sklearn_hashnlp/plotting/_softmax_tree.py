"""Plot of a softmax tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sklearn_hashnlp.plotting._axes import Display
from sklearn_hashnlp.trees import SoftmaxTree

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Text

_EDGE_COLOR = "#9aa0a8"
_NODE_COLOR = "#4c72b0"
_MAX_CLASSES = 100
_PADDING = 0.25  # padding of the box around a text, in font sizes
_MAX_TEXT_SHARE = 0.5  # maximum width or height of a text, relative to the axes
_N_ITERATIONS = 50


class SoftmaxTreeDisplay(Display):
    """Plot of the inner nodes and classes of a small tree, with the root on top.

    Parameters
    ----------
    tree : SoftmaxTree
        The tree, of at most 100 classes.
    names : sequence of str, default=None
        Names of the V classes; by default their ids.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes, matplotlib Figure

    See Also
    --------
    SoftmaxTree.draw : Draw a tree of any size as text.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn_hashnlp.plotting import SoftmaxTreeDisplay
    >>> from sklearn_hashnlp.trees import huffman_tree
    >>> display = SoftmaxTreeDisplay.from_tree(
    ...     huffman_tree([5, 3, 1]), names="abc", ax=Figure().subplots()
    ... )
    >>> [text.get_text() for text in display.ax_.texts]
    ['0', '1', 'a', 'b', 'c']
    """

    def __init__(self, tree: SoftmaxTree, names: Sequence[str] | None = None) -> None:
        self.tree = tree
        self.names = names

    @classmethod
    def from_tree(
        cls, tree: SoftmaxTree, names: Sequence[str] | None = None, ax: Axes | None = None
    ) -> SoftmaxTreeDisplay:
        """Draw a tree with the given names of its classes into ``ax``, by default a new figure."""
        return cls(tree, names).plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> SoftmaxTreeDisplay:
        """Draw into ``ax``, by default a new figure."""
        tree, names = self.tree, self.names
        if tree.n_classes > _MAX_CLASSES:
            raise ValueError(
                f"SoftmaxTreeDisplay draws trees of at most {_MAX_CLASSES} classes, but this one has {tree.n_classes}. "
                "Print tree.draw(), or draw tree_from_nested of a part of it."
            )
        if names is not None and len(names) != tree.n_classes:
            raise ValueError(f"SoftmaxTreeDisplay needs a name for each of {tree.n_classes} classes, got {len(names)}.")
        ax = self._take_axes(ax, figsize=(max(6.4, 0.3 * tree.n_classes), max(4.8, 0.6 * (tree.max_depth + 2))))
        nodes, classes = _positions(tree)
        ends = np.array([nodes[child] if child >= 0 else classes[~child] for child in tree.children.tolist()])
        for (x, y), parent in zip(ends, np.repeat(np.arange(tree.n_nodes), tree.arities).tolist(), strict=True):
            ax.plot([nodes[parent][0], x], [nodes[parent][1], y], color=_EDGE_COLOR, linewidth=1, zorder=1)
        box = {"boxstyle": f"round,pad={_PADDING}", "edgecolor": "none"}
        for number, (x, y) in enumerate(nodes.tolist()):
            ax.text(x, y, str(number), ha="center", va="center", color="white", bbox={**box, "facecolor": _NODE_COLOR})
        for number, (x, y) in enumerate(classes.tolist()):
            name = str(number) if names is None else str(names[number])
            ax.text(x, y, name, ha="center", va="top", bbox={**box, "facecolor": "white"})
        ax.set_axis_off()
        _fit_texts(ax, tree.n_classes)
        return self


def _fit_texts(ax: Axes, n_classes: int) -> None:
    """Choose text size, rotation of the names, and limits, so that names neither overlap nor are cut off."""
    names, sizes = ax.texts[-n_classes:], np.array(ax.bbox.size)
    pitch = sizes[0] / (n_classes + 1)  # distance of names in pixels
    if _text_sizes(names)[:, 0].max() > pitch:
        for name in names:
            name.set_rotation(90)
    used = _text_sizes(ax.texts).max(axis=0) / (_MAX_TEXT_SHARE * sizes)
    scale = 1 / max(1.0, _text_sizes(names)[:, 0].max() / pitch, *used)
    for text in ax.texts:
        text.set_fontsize(scale * float(text.get_fontsize()))
    positions = np.array([text.get_position() for text in ax.texts])
    pixels = ax.transData.transform(positions)
    boxes = np.array([text.get_window_extent().get_points() for text in ax.texts])
    padding = _text_padding(ax.texts)
    below, above = pixels - boxes[:, 0] + padding, boxes[:, 1] - pixels + padding
    x_limits, y_limits = (_limits(*columns) for columns in zip(positions.T, below.T, above.T, sizes, strict=True))
    ax.set_xlim(x_limits)
    ax.set_ylim(y_limits)


def _text_sizes(texts: Sequence[Text]) -> np.ndarray:
    """Return width and height of each text with its padding, in pixels."""
    sizes = np.array([text.get_window_extent().size for text in texts])
    padded: np.ndarray = sizes + 2 * _text_padding(texts)
    return padded


def _text_padding(texts: Sequence[Text]) -> np.ndarray:
    figure = texts[0].get_figure(root=True)
    assert figure is not None
    return np.array([[_PADDING * float(text.get_fontsize()) * figure.dpi / 72] for text in texts])


def _limits(positions: np.ndarray, below: np.ndarray, above: np.ndarray, size: float) -> tuple[float, float]:
    """Return limits for texts that extend ``below`` and ``above`` their positions, in pixels."""
    low, high = positions.min() - 0.5, positions.max() + 0.5
    for _ in range(_N_ITERATIONS):  # larger limits make pixels larger in units of the positions
        unit = (high - low) / size
        low, high = min(low, (positions - unit * below).min()), max(high, (positions + unit * above).max())
    return low, high


def _positions(tree: SoftmaxTree) -> tuple[np.ndarray, np.ndarray]:
    """Return x and y of inner nodes and of classes; each node is above the center of its children."""
    classes = np.zeros((tree.n_classes, 2))
    nodes = np.zeros((tree.n_nodes, 2))
    # Sorted by branches, the leaves are ordered from left to right.
    order = sorted(range(tree.n_classes), key=lambda c: tree.path(c)[1].tolist())
    classes[order, 0] = np.arange(tree.n_classes)
    classes[:, 1] = -tree.depths
    for node in reversed(range(tree.n_nodes)):
        children = tree.children[tree.offsets[node] : tree.offsets[node + 1]].tolist()
        nodes[node, 0] = np.mean([nodes[child][0] if child >= 0 else classes[~child][0] for child in children])
    for node in range(1, tree.n_nodes):
        nodes[node, 1] = nodes[tree.node_parent[node], 1] - 1
    return nodes, classes
