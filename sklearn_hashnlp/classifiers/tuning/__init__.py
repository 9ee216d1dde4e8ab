"""Search for good parameters of a text classifier within a time and a size."""


def check_optuna(caller: str) -> None:
    """Raise an error with the command to install if optuna is missing."""
    try:
        import optuna  # noqa: F401
    except ImportError:
        raise ImportError(f"{caller} needs optuna. Install it with: pip install optuna") from None
