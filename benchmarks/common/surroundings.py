"""What a benchmark ran on: the part of every result that says where and with what."""

from sklearn_hashnlp.experiments._run import surroundings

__all__ = ["surroundings"]
