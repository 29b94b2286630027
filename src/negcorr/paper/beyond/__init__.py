"""Experiments beyond the paper, one module for each."""
