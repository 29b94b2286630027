"""From a file to typed columns, whole or in chunks: CSV, ARFF, Excel, Parquet and others."""

from negcorr.exceptions import TableError
from negcorr.reading.schema import Column, Schema
from negcorr.reading.table import Table, read_table
from negcorr.reading.table_chunks import TableChunks, is_large

__all__ = ["Column", "Schema", "Table", "TableChunks", "TableError", "is_large", "read_table"]
