"""Tables as people have them: files of any usual format, columns of any kind, honest figures."""

from negcorr.exceptions import TableError
from negcorr.tabular.columns import infer_columns
from negcorr.tabular.date_parts import DateParts
from negcorr.tabular.figures import Figures, held_out_figures
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
    "TableError",
    "TamedScaler",
    "Trial",
    "TypedColumns",
    "compare",
    "folds_for",
    "held_out_figures",
    "hold_out",
    "infer_columns",
    "make_tabular",
    "read_table",
    "samples",
    "try_out",
]
