"""Runs graphs of ONNX as a user would, in onnxruntime."""

import numpy as np
import onnxruntime


def run(proto, rows):
    """All outputs of a graph for rows in its own precision, and that precision."""
    session = onnxruntime.InferenceSession(
        proto.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    single = session.get_inputs()[0].type == "tensor(float)"
    kind = np.float32 if single else np.float64
    outputs = session.run(None, {"X": np.asarray(rows, dtype=kind)})
    assert all(output.dtype == kind for output in outputs)
    return outputs, kind
