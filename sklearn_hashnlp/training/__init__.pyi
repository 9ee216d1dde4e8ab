from sklearn_hashnlp.training._callbacks import StepLog, TimeLimit
from sklearn_hashnlp.training._settings import EarlyStopping, Schedule

__all__ = ["EarlyStopping", "Schedule", "StepLog", "TimeLimit"]
