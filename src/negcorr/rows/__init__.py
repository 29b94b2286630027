"""Rows of a fit, their keys, and folds that the content of a row decides."""
