"""Data: readers of sparse and text files, taxonomies, a registry of data sets, and sets that are always there."""

from codekin._system.stored_rows import StoredRows
from codekin.datasets.blocks import Source
from codekin.datasets.caching import CacheError, cached_data, open_cache
from codekin.datasets.embedded import load_digits_dataset, load_icd10cm, load_yeast
from codekin.datasets.exporting import export_dataset
from codekin.datasets.fetching import SOURCES, RemoteFile, RemoteSource, fetch
from codekin.datasets.home import data_home
from codekin.datasets.matrices import read_distances, read_matrix
from codekin.datasets.options import ReadOptions, label_kind
from codekin.datasets.reading import FORMATS, iter_data, read_data
from codekin.datasets.registry import DATASETS, DatasetEntry, load_dataset
from codekin.datasets.samples import Data, DataError, Dataset, SparseData, Split, TextData
from codekin.datasets.synthetic import make_blobs_with_tree, make_sparse_topics
from codekin.datasets.taxonomies import read_taxonomy
from codekin.datasets.texts import vectorized
from codekin.datasets.vectorizers import FittedVectorizer, TextVectorizer
from codekin.datasets.writing import WRITABLE_FORMATS, convert_data, write_data

__all__ = [
    "DATASETS",
    "FORMATS",
    "SOURCES",
    "WRITABLE_FORMATS",
    "CacheError",
    "Data",
    "DataError",
    "Dataset",
    "DatasetEntry",
    "FittedVectorizer",
    "ReadOptions",
    "RemoteFile",
    "RemoteSource",
    "Source",
    "SparseData",
    "Split",
    "StoredRows",
    "TextData",
    "TextVectorizer",
    "cached_data",
    "convert_data",
    "data_home",
    "export_dataset",
    "fetch",
    "iter_data",
    "label_kind",
    "load_dataset",
    "load_digits_dataset",
    "load_icd10cm",
    "load_yeast",
    "make_blobs_with_tree",
    "make_sparse_topics",
    "open_cache",
    "read_data",
    "read_distances",
    "read_matrix",
    "read_taxonomy",
    "vectorized",
    "write_data",
]
