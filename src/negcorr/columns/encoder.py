"""columns/encoder."""

from __future__ import annotations

from sklearn.compose import ColumnTransformer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder

from negcorr.columns.date_parts import DateParts
from negcorr.columns.squash import TamedScaler

__all__ = ["LEAST_ROWS_OF_LEVEL", "MOST_COLUMNS_OF_CATEGORY", "_encoder"]


#: Rows that a level of a category needs for a column of its own; rarer ones share one.
LEAST_ROWS_OF_LEVEL = 5


#: Most columns that a category becomes.
MOST_COLUMNS_OF_CATEGORY = 100


def _encoder(numbers: list[str], categories: list[str], dates: list[str]) -> ColumnTransformer:
    scaled = Pipeline(
        [
            ("impute", SimpleImputer(strategy="median", keep_empty_features=True)),
            ("scale", TamedScaler()),
        ]
    )
    one_hot = OneHotEncoder(
        handle_unknown="infrequent_if_exist",
        min_frequency=LEAST_ROWS_OF_LEVEL,
        max_categories=MOST_COLUMNS_OF_CATEGORY,
        sparse_output=False,
    )
    parts = [
        ("numbers", scaled, numbers),
        # Apart from the imputer, whose indicator would be scaled with the numbers.
        ("missing", MissingIndicator(error_on_new=False), numbers),
        ("categories", one_hot, categories),
        ("dates", DateParts(), dates),
    ]
    # Dense: sparse parts cannot be joined where no number is missing, and levels are bounded.
    return ColumnTransformer([part for part in parts if part[2]], sparse_threshold=0.0)
