"""One self-contained HTML page about a fitted ensemble, whose curves are computed in the page."""

from negcorr.reporting.page import report

__all__ = ["report"]
