"""Models of fastText: loaded, trained in its terms, and written."""
