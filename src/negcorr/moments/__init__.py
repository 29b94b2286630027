"""Sufficient statistics of features and targets, from one pass over the rows."""
