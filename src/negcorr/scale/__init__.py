"""The same estimator from rows that do not fit in memory: files, chunks, clusters."""

from negcorr.scale.chunks import Chunk
from negcorr.scale.fitting import fit, predict

__all__ = ["Chunk", "fit", "predict"]
