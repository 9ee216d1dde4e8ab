"""Training of the estimators: parameter bundles, callbacks, and the training engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["EarlyStopping", "Schedule", "StepLog", "TimeLimit"]

if TYPE_CHECKING:
    from sklearn_hashnlp.training._bundles import EarlyStopping, Schedule
    from sklearn_hashnlp.training._callbacks import StepLog, TimeLimit
else:
    from sklearn_hashnlp._lazy import lazy_names

    __getattr__, __dir__ = lazy_names(
        __name__, {"_bundles": ["EarlyStopping", "Schedule"], "_callbacks": ["StepLog", "TimeLimit"]}
    )
