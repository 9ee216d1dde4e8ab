"""Commands of ``hashnlp sentences``."""
