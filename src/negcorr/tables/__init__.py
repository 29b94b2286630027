"""A trial on a table: split, fit beside other methods, held-out figures."""

from negcorr.columns.date_parts import DateParts
from negcorr.columns.encoder import SquashingScaler
from negcorr.columns.kinds import infer_columns
from negcorr.columns.samples import Samples, samples
from negcorr.columns.typed_columns import TypedColumns
from negcorr.tables.comparison import Comparison, Method
from negcorr.tables.held_out_errors import Figures, held_out_figures
from negcorr.tables.large_trial import predict_frames, try_out_large
from negcorr.tables.pipeline import make_tabular
from negcorr.tables.splitting import folds_for, hold_out
from negcorr.tables.trial import Trial, compare, try_out

__all__ = [
    "Comparison",
    "DateParts",
    "Figures",
    "Method",
    "Samples",
    "SquashingScaler",
    "Trial",
    "TypedColumns",
    "compare",
    "folds_for",
    "held_out_figures",
    "hold_out",
    "infer_columns",
    "make_tabular",
    "predict_frames",
    "samples",
    "try_out",
    "try_out_large",
]
