"""Row-wise optimizers for embedding tables, as torch.optim has them for whole tensors."""

from sklearn_hashnlp.optim._rowwise_adagrad import RowwiseAdagrad
from sklearn_hashnlp.optim._rowwise_adam import RowwiseAdam

__all__ = ["RowwiseAdagrad", "RowwiseAdam"]
