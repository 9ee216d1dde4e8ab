"""Commands of ``hashnlp lm``."""
