"""The command ``negcorr``: tuned ensembles of tables, and figures and tables of the paper."""

from negcorr.cli.main import main

__all__ = ["main"]
