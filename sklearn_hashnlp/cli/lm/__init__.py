"""The commands of `hashnlp lm`."""
