"""Tables as people have them: files of any usual format, columns of any kind, honest figures."""

from negcorr.exceptions import TableError
from negcorr.tabular.columns import infer_columns
from negcorr.tabular.date_parts import DateParts
from negcorr.tabular.figures import Figures, held_out_figures
from negcorr.tabular.large_files import TableChunks, is_large
from negcorr.tabular.large_samples import TableSample, sample_of
from negcorr.tabular.large_trial import predict_frames, try_out_large
from negcorr.tabular.pipeline import make_tabular
from negcorr.tabular.reading import Table, read_table
from negcorr.tabular.samples import Samples, samples
from negcorr.tabular.schema import Column, Schema
from negcorr.tabular.scoring import Comparison, Method
from negcorr.tabular.splitting import folds_for, hold_out
from negcorr.tabular.tamed import TamedScaler
from negcorr.tabular.trial import Trial, compare, try_out
from negcorr.tabular.typed_columns import TypedColumns

__all__ = [
    "Column",
    "Comparison",
    "DateParts",
    "Figures",
    "Method",
    "Samples",
    "Schema",
    "Table",
    "TableChunks",
    "TableError",
    "TableSample",
    "TamedScaler",
    "Trial",
    "TypedColumns",
    "compare",
    "folds_for",
    "held_out_figures",
    "hold_out",
    "infer_columns",
    "is_large",
    "make_tabular",
    "predict_frames",
    "read_table",
    "sample_of",
    "samples",
    "try_out",
    "try_out_large",
]
