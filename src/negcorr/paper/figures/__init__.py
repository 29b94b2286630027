"""The figures and the table of the paper, one module for each."""
