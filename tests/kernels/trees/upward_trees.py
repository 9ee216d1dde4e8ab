"""Trees as kernels read them from the leaves up."""

import numpy as np

from sklearn_hashnlp.kernels.trees._paths import UpwardTree


def upward_tree(tree):
    return UpwardTree(
        np.stack([tree.class_parent, tree.class_branch], axis=1).astype(np.int32),
        np.stack([tree.node_parent, tree.node_branch], axis=1).astype(np.int32),
        tree.score_offsets,
        tree.depths,
    )
