"""The training engine, which knows no estimator."""
