"""Colours that colour-blind readers can distinguish, for every picture of the package."""

__all__ = ["COLOURS", "GREY"]

#: Okabe and Ito's, in the order of use: blue, vermilion, green, purple, orange, sky, yellow.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442")

GREY = "#5A5A5A"
