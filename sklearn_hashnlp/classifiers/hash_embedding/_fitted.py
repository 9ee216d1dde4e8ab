"""A fitted HashEmbeddingClassifier: predictions and state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from sklearn_hashnlp._sklearn import check_fitted
from sklearn_hashnlp.classifiers._calibration import Calibration
from sklearn_hashnlp.classifiers._losses import Loss, TreeLoss
from sklearn_hashnlp.classifiers._more_classes import MoreClasses
from sklearn_hashnlp.classifiers._net_classifier import NetClassifier
from sklearn_hashnlp.classifiers.hash_embedding._auto_parameters import SolverName
from sklearn_hashnlp.classifiers.hash_embedding._embedding_tables import EmbeddingTables
from sklearn_hashnlp.classifiers.hash_embedding._model import (
    HashEmbeddingModel,
    ScoredRows,
    embed_rows,
    score_rows,
)
from sklearn_hashnlp.classifiers.hash_embedding._more_outputs import with_classes
from sklearn_hashnlp.classifiers.hash_embedding._sparse_rows import (
    SparseRows,
    canonical_rows,
    plain_rows,
)
from sklearn_hashnlp.kernels.linear._linear_model import LinearModel

if TYPE_CHECKING:  # torch is imported where a net is made
    from sklearn_hashnlp.classifiers.hash_embedding._sparse_net import SparseNet


class FittedHashEmbedding(NetClassifier):
    """A classifier with what it learned as arrays; a net is made of them on first access."""

    _model: HashEmbeddingModel
    _net: SparseNet
    embedding: EmbeddingTables | None
    embedding_dim: int | Literal["auto"]
    solver_: SolverName
    _idf_divisor: float | None
    _tree_name: str | None = None

    def _tables(self) -> EmbeddingTables:
        return EmbeddingTables() if self.embedding is None else self.embedding

    @property
    def net_(self) -> SparseNet:
        """The trained net; made on first access, unless this object was trained by gradients."""
        if "_net" not in self.__dict__ and self._is_fitted:
            from sklearn_hashnlp.classifiers.hash_embedding._sparse_net import net_of_model

            self.__dict__.setdefault("_net", net_of_model(self._model, self.history_))
        net: SparseNet = super().net_
        return net

    @property
    def _is_fitted(self) -> bool:
        return "_model" in self.__dict__

    @property
    def _loss(self) -> Loss:  # type: ignore[override]
        return self._model.loss

    @property
    def _calibration(self) -> Calibration:  # type: ignore[override]
        return self._model.calibration

    def document_vectors(self, X: Any) -> NDArray[np.float32]:
        """Compute the vectors of rows: column embeddings, combined and divided by ``normalize``.

        For a model of :func:`load_fasttext` these are fastText's sentence vectors and, for rows of
        :meth:`~sklearn_hashnlp.text.FastTextVectorizer.transform_words`, its word vectors.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, as in ``fit``.

        Returns
        -------
        ndarray of float32 of shape (n_samples, width)
            The vectors, of ``embedding_dim`` columns (times ``n_hashes`` for
            ``aggregation="concat"``, and ``n_hashes`` more with ``append_weight``); zeros for a row
            without known columns.

        Raises
        ------
        ValueError
            If ``X`` is not as in ``fit``.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn_hashnlp.classifiers import HashEmbeddingClassifier
        >>> model = HashEmbeddingClassifier(
        ...     variant="standard", embedding_dim=4, random_state=0
        ... )
        >>> model = model.fit(np.eye(3), ["a", "b", "c"])
        >>> model.document_vectors(np.eye(3)).shape
        (3, 4)
        """
        check_fitted(self, "classes_")
        rows, bag = self._rows(X), self._model.bag
        if bag is not None:
            return embed_rows(bag, rows)[0]
        from sklearn_hashnlp.training._torch_scope import plain_torch

        with plain_torch(self.net_.device_type):
            return self.net_.document_vectors(rows)

    def _rows(self, X: Any) -> SparseRows:
        rows = None if hasattr(self, "feature_names_in_") else plain_rows(X, self.n_features_in_)
        if rows is not None:
            return rows
        self._refuse_texts(X)
        X = validate_data(
            self, X, accept_sparse="csr", dtype=np.float32, ensure_min_samples=0, reset=False
        )
        return SparseRows(canonical_rows(X, any_scale=self._model.spec.normalize is not None))

    def _keep_calibration(self, net: SparseNet, calibration: Calibration) -> None:
        self._model = net.to_model(calibration)

    def _keep_model(self, model: HashEmbeddingModel, history: list[dict[str, Any]]) -> None:
        """Set the model, its number of parameters and history, and a net if torch is needed."""
        self.__dict__.pop("_net", None)
        self._model, self.n_parameters_ = model, model.n_parameters
        self._keep_history(history, [])
        if model.linear is None:
            _ = self.net_

    def _extend(self, more: MoreClasses, bias: NDArray[np.float64]) -> None:
        if self._model.tree is not None and self._tree_name is None:
            raise ValueError(
                f"{type(self).__name__} cannot add leaves to a given tree. Call fit on all rows "
                "with a tree of all labels, or with the name of a tree."
            )
        self._keep_model(with_classes(self._model, more, bias), self.history_)

    def _scores(self, X: Any) -> NDArray[np.float64]:
        check_fitted(self, "classes_")
        rows, model = self._rows(X), self._model.calibrated
        if model is None:
            vectors, lengths = self.net_.embedded(rows, self._model.tables)
            return self._calibration.shifted(
                self._loss, self._scores_by_net(rows, vectors), lengths
            )
        return self._score(rows, model).scores

    def _score(
        self, rows: SparseRows, model: LinearModel, *, with_scores: bool = True
    ) -> ScoredRows:
        scored = score_rows(model, rows, with_scores=with_scores)
        if not scored.finite:
            raise self._not_finite()
        return scored

    def _most_probable(self, X: Any) -> NDArray[np.int64]:
        if isinstance(self._loss, TreeLoss):
            return self._tree_topk(X, 1)[1][:, 0]
        model = self._model.calibrated
        if model is None:
            return super()._most_probable(X)
        return self._score(self._rows(X), model, with_scores=False).labels

    def _topk(self, X: Any, k: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        if not isinstance(self._loss, TreeLoss):
            return super()._topk(X, k)
        log_probs, classes = self._tree_topk(X, k)
        return np.exp(log_probs), classes

    def _tree_topk(self, X: Any, k: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Search the tree for each row's k most probable classes, without scoring every class."""
        rows = self._rows(X)
        from sklearn_hashnlp.training._torch_scope import plain_torch

        with plain_torch(self.net_.device_type):
            vectors, lengths = self.net_.embedded(rows, self._model.tables)
            log_probs, classes = self.net_.topk(rows, k, vectors)
        if not np.isfinite(log_probs).all():
            raise self._not_finite()
        unknown = np.flatnonzero(lengths == 0)
        prior = self._loss.prior_scores(self._calibration.class_counts)
        if prior is not None:
            classes[unknown] = np.argsort(-prior, kind="stable")[:k]
            log_probs[unknown] = self._loss.log_probabilities(prior[np.newaxis])[
                0, classes[unknown]
            ]
        return log_probs, classes

    def _learned(self) -> HashEmbeddingModel | None:
        return self.__dict__.get("_model")

    def _load(
        self, values: dict[str, Any], arrays: dict[str, NDArray[Any]], history: list[dict[str, Any]]
    ) -> None:
        self._keep_model(HashEmbeddingModel.from_state(values, arrays), history)

    def _load_optimizer(self, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        self._model.load_training_state(values, arrays)
        if self.__dict__.pop("_net", None) is not None:  # it was made without this state
            _ = self.net_

    def _get_model_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        values, arrays = super()._get_model_state()
        own = {
            "idf_divisor": self._idf_divisor,
            "tree_name": self._tree_name,
            "solver": self.solver_,
        }
        return values | own, arrays

    def _set_model_state(self, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        super()._set_model_state(values, arrays)
        self._idf_divisor, self._tree_name = values["idf_divisor"], values["tree_name"]
        self.solver_ = values["solver"]
