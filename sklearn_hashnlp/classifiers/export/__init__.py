"""Classifiers as a Python file or folder that needs numpy alone: the writer, and the code that is written."""
