"""Row-wise optimizers for embedding tables, and clipping of sparse gradients."""

from sklearn_hashnlp.optim._rowwise_adagrad import RowwiseAdagrad
from sklearn_hashnlp.optim._rowwise_adam import RowwiseAdam
from sklearn_hashnlp.optim._rowwise_optimizer import clip_grad_norm_
from sklearn_hashnlp.optim._rowwise_sgd import RowwiseSGD

__all__ = ["RowwiseAdagrad", "RowwiseAdam", "RowwiseSGD", "clip_grad_norm_"]
