"""The commands of `hashnlp experiments`."""
