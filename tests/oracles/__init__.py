"""Slow truths: formulas written as plain loops, one row and one number at a time."""
