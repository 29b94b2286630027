"""Export of a fitted ensemble to ONNX."""
