"""Classifiers as a Python file or folder that needs only numpy: the writer and the written code."""
