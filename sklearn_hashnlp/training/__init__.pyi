from sklearn_hashnlp.training._bundles import EarlyStopping, Schedule
from sklearn_hashnlp.training._callbacks import StepLog, TimeLimit

__all__ = ["EarlyStopping", "Schedule", "StepLog", "TimeLimit"]
