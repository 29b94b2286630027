"""The command ``negcorr``: data sets, and every figure and table of the paper."""

from negcorr.cli.main import main

__all__ = ["main"]
