"""The same estimator from rows that do not fit in memory: files, streams of chunks."""

from negcorr.scale.chunks import Chunk
from negcorr.scale.fitting import fit

__all__ = ["Chunk", "fit"]
