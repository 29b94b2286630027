"""The 20 data sets of the paper's Appendix E: what is known of them, and how to load them."""

from negcorr.datasets.dataset import Dataset
from negcorr.datasets.errors import DatasetError, MissingDatasetError
from negcorr.datasets.loading import Availability, available, is_available, load
from negcorr.datasets.registry import DATASETS, DatasetInfo, info

__all__ = [
    "DATASETS",
    "Availability",
    "Dataset",
    "DatasetError",
    "DatasetInfo",
    "MissingDatasetError",
    "available",
    "info",
    "is_available",
    "load",
]
