"""Commands of ``hashnlp experiments``."""
