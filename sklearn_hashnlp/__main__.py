"""``python -m sklearn_hashnlp``: the ``hashnlp`` command."""

from sklearn_hashnlp.cli import main

if __name__ == "__main__":
    main()
