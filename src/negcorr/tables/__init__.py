"""A trial on a table: split, fit beside other methods, held-out figures."""

from negcorr.columns.frame_encoder import FrameEncoder
from negcorr.columns.kinds import infer_columns
from negcorr.columns.samples import Samples, samples
from negcorr.tables.comparison import Comparison, Method
from negcorr.tables.held_out_errors import Figures, held_out_figures
from negcorr.tables.large_trial import predict_frames, try_out_large
from negcorr.tables.splitting import folds_for, hold_out
from negcorr.tables.trial import Trial, compare, try_out

__all__ = [
    "Comparison",
    "Figures",
    "FrameEncoder",
    "Method",
    "Samples",
    "Trial",
    "compare",
    "folds_for",
    "held_out_figures",
    "hold_out",
    "infer_columns",
    "predict_frames",
    "samples",
    "try_out",
    "try_out_large",
]
