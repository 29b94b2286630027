"""From a data frame to numbers: kinds of columns and how each is encoded."""
