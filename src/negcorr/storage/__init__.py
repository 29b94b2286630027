"""Fitted models in files: save, load, describe, and export to ONNX."""

from negcorr.storage.onnx.export import to_onnx
from negcorr.storage.save_load import describe, load, save

__all__ = ["describe", "load", "save", "to_onnx"]
