"""A fitted HashEmbeddingClassifier: predictions and state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from sklearn_hashnlp._sklearn import check_fitted
from sklearn_hashnlp.classifiers._class_shares import prior_scores
from sklearn_hashnlp.classifiers._losses import Loss, TreeLoss
from sklearn_hashnlp.classifiers._net_classifier import NetClassifier
from sklearn_hashnlp.classifiers.hash_embedding._automatic import SolverName
from sklearn_hashnlp.classifiers.hash_embedding._embedding_tables import EmbeddingTables
from sklearn_hashnlp.classifiers.hash_embedding._idf import KnownColumns, evidence_shares, least_importance
from sklearn_hashnlp.classifiers.hash_embedding._linear_fit import LinearFit, is_linear
from sklearn_hashnlp.classifiers.hash_embedding._linear_scores import (
    ScoredRows,
    document_vectors,
    plain_rows,
    score_rows,
)
from sklearn_hashnlp.classifiers.hash_embedding._sparse_rows import SparseRows, canonical_rows
from sklearn_hashnlp.kernels.embeddings._tables import TableSpec
from sklearn_hashnlp.kernels.linear._linear_model import LinearModel

if TYPE_CHECKING:  # torch is imported where a net is made
    from sklearn_hashnlp.classifiers.hash_embedding._sparse_net import SparseNet
    from sklearn_hashnlp.training._optimizer_state import Packed


class FittedHashEmbedding(NetClassifier):
    """A classifier with a net, or with a linear model from which a net is made on first access."""

    _net: SparseNet
    _linear: LinearFit | None = None  # until a net is made
    embedding: EmbeddingTables | None
    solver_: SolverName
    _enough_evidence: float
    _idf_divisor: float | None
    _tree_name: str | None = None

    def _tables(self) -> EmbeddingTables:
        return EmbeddingTables() if self.embedding is None else self.embedding

    @property
    def net_(self) -> SparseNet:
        """The trained net; made on first access after the dual solver or loading a linear model."""
        if "_net" not in self.__dict__ and self._linear is not None:
            from sklearn_hashnlp.classifiers.hash_embedding._sparse_net import net_of_linear_fit

            self.__dict__.setdefault("_net", net_of_linear_fit(self._linear, self.history_))
        net: SparseNet = super().net_
        return net

    @property
    def _is_fitted(self) -> bool:
        return "_net" in self.__dict__ or self._linear is not None

    @property
    def _loss(self) -> Loss:  # type: ignore[override]
        held = self._held()
        return held.loss if isinstance(held, LinearFit) else held.criterion_

    def document_vectors(self, X: Any) -> NDArray[np.float32]:
        """Compute the vector of each row: the embeddings of its columns, combined and divided by ``normalize``.

        For a model of :func:`load_fasttext` these are fastText's sentence vectors and, for rows of
        :meth:`FastTextVectorizer.transform_words <sklearn_hashnlp.text.FastTextVectorizer.transform_words>`, its word
        vectors.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, as in ``fit``.

        Returns
        -------
        ndarray of float32 of shape (n_samples, width)
            The vectors, of ``embedding_dim`` columns (times ``n_hashes`` for ``aggregation="concat"``, and ``n_hashes``
            more with ``append_weight``); zeros for a row without known columns.

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
        rows, model = self._rows(X), self._linear_model()
        if model is not None:
            return document_vectors(model, rows)
        from sklearn_hashnlp.training._torch_scope import plain_torch

        with plain_torch(self._net.device_type):
            return self._net.document_vectors(rows)

    def _held(self) -> SparseNet | LinearFit:
        net: SparseNet | None = self.__dict__.get("_net")
        return self._linear if net is None and self._linear is not None else self._net

    def _table_spec(self) -> TableSpec:
        held = self._held()
        spec: TableSpec = held.model.spec if isinstance(held, LinearFit) else held.module_.bag.spec
        return spec

    def _linear_model(self) -> LinearModel | None:
        """Return the arrays of a linear model; None if torch computes the scores."""
        net = self.__dict__.get("_net")
        if net is None:
            return None if self._linear is None else self._linear.model
        model: LinearModel | None = net.module_.linear_model()
        return model

    def _rows(self, X: Any) -> SparseRows:
        if isinstance(X, SparseRows):  # a text that a TextClassifier counted
            return X
        rows = None if hasattr(self, "feature_names_in_") else plain_rows(X, self.n_features_in_)
        if rows is not None:
            return rows
        self._refuse_texts(X)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float32, ensure_min_samples=0, reset=False)
        return SparseRows(canonical_rows(X, any_scale=self._table_spec().normalize is not None))

    def _keep_linear(self, fit: LinearFit, history: list[dict[str, Any]]) -> None:
        self.__dict__.pop("_net", None)
        self._linear, self.n_parameters_ = fit, fit.model.n_parameters
        self._keep_history(history, [])

    def _scores(self, X: Any) -> NDArray[np.float64]:
        check_fitted(self, "classes_")
        rows, model = self._rows(X), self._linear_model()
        if model is None:
            return self._with_prior(self._scores_by_net(rows), self._evidence(rows, None))
        scored = self._score(rows, model)
        return self._with_prior(scored.scores, self._evidence(rows, model, scored.evidence))

    def _score(self, rows: SparseRows, model: LinearModel, *, with_scores: bool = True) -> ScoredRows:
        scored = score_rows(model, rows, with_scores=with_scores, common=least_importance(self._idf_divisor))
        self._check_all_finite(scored.finite)
        return scored

    def _evidence(
        self, rows: SparseRows, model: LinearModel | None, evidence: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        if self._class_counts[-1] <= 0:  # the training rows are unknown
            return np.ones(len(rows))
        known = self._net.known_columns() if model is None else KnownColumns(model.spec, model.known)
        return evidence_shares(known, rows, self._idf_divisor, self._enough_evidence, evidence)

    def _with_prior(self, scores: NDArray[np.float64], evidence: NDArray[np.float64]) -> NDArray[np.float64]:
        """Shift the scores of rows with little evidence towards the prior scores."""
        weak = (evidence < 1).nonzero()[0]
        if len(weak):
            share = evidence[weak, np.newaxis]
            scores[weak] = share * scores[weak] + (1 - share) * self._prior_scores()
        return scores

    def _prior_scores(self) -> NDArray[np.float64]:
        loss = self._loss
        return prior_scores(
            self._class_counts,
            link=loss.link,
            multilabel=loss.multilabel,
            inverse_temperature=loss.inverse_temperature,
        )

    def _most_probable(self, X: Any) -> NDArray[np.int64]:
        if isinstance(self._loss, TreeLoss):
            return self._tree_topk(X, 1)[1][:, 0]
        model = self._linear_model()
        if model is None:
            return super()._most_probable(X)
        rows = self._rows(X)
        scored = self._score(rows, model, with_scores=False)
        evidence = self._evidence(rows, model, scored.evidence)
        weak = (evidence < 1).nonzero()[0]
        if len(weak):
            scores = self._score(rows.select(weak), model).scores
            scored.labels[weak] = self._with_prior(scores, evidence[weak]).argmax(axis=1)
        return scored.labels

    def _topk(self, X: Any, k: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        if not isinstance(self._loss, TreeLoss):
            return super()._topk(X, k)
        log_probs, classes = self._tree_topk(X, k)
        return np.exp(log_probs), classes

    def _tree_topk(self, X: Any, k: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Search the tree for the k most probable classes of each row, without a score for every class."""
        rows = self._rows(X)
        from sklearn_hashnlp.training._torch_scope import plain_torch

        with plain_torch(self._net.device_type):
            log_probs, classes = self._net.topk(rows, k)
        self._check_finite(log_probs)
        evidence = self._evidence(rows, None)
        weak = (evidence < 1).nonzero()[0]
        if len(weak):
            scores = self._with_prior(self._scores_by_net(rows.select(weak)), evidence[weak])
            scores = self._loss.log_probabilities(scores)
            classes[weak] = np.argsort(-scores, axis=1, kind="stable")[:, :k]
            log_probs[weak] = np.take_along_axis(scores, classes[weak], axis=1)
        return log_probs, classes

    @staticmethod
    def _net_from_state(values: dict[str, Any], arrays: dict[str, NDArray[Any]], history: list[Any]) -> SparseNet:
        from sklearn_hashnlp.classifiers.hash_embedding._sparse_net import net_from_state

        return net_from_state(values, arrays, history)

    def _load_net(self, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        if not is_linear(values["architecture"], arrays, values["device"]):
            super()._load_net(values, arrays)
            return
        fit = LinearFit.from_state(values, arrays)
        fit.load_step_sizes(values, arrays)
        self._keep_linear(fit, values["history"])

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        fit = state.pop("_linear", None)
        return state if fit is None or "_net" in self.__dict__ else state | self._packed(fit)

    def _unpack(self, net_state: Packed, step_sizes: Packed | None, optimizer_state: Packed | None) -> None:
        values, arrays = net_state
        if not is_linear(values["architecture"], arrays, values["device"]):
            super()._unpack(net_state, step_sizes, optimizer_state)
            return
        fit = LinearFit.from_state(values, arrays)
        if step_sizes is not None:
            fit.load_step_sizes(*step_sizes)
        if optimizer_state is not None:
            fit.load_training_state(*optimizer_state)
        self._keep_linear(fit, list(self.history_))

    def _get_training_state(self) -> Packed | None:
        held = self._held()
        return held.to_training_state() if held.has_training_state else None

    def _set_training_state(self, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        if self._linear is None:
            super()._set_training_state(values, arrays)
        else:
            self._linear.load_training_state(values, arrays)

    def _get_model_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        values, arrays = super()._get_model_state()
        own = {"idf_divisor": self._idf_divisor, "tree_name": self._tree_name, "solver": self.solver_}
        own["enough_evidence"] = self._enough_evidence
        return values | own, arrays

    def _set_model_state(self, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        super()._set_model_state(values, arrays)
        self._idf_divisor, self._tree_name = values["idf_divisor"], values["tree_name"]
        self.solver_ = values["solver"]
        self._enough_evidence = float(values["enough_evidence"])
