"""Data: readers for sparse and text files, taxonomies, a registry of data sets, and embedded sets."""

from codekin.datasets.caching import cached_data
from codekin.datasets.fetching import fetch
from codekin.datasets.options import ReadOptions
from codekin.datasets.reading import FORMATS, iter_data, read_data
from codekin.datasets.registry import DATASETS, load_dataset
from codekin.datasets.samples import DataError, Dataset, SparseData, Split, TextData
from codekin.datasets.synthetic import make_sparse_topics
from codekin.datasets.taxonomies import read_taxonomy
from codekin.datasets.vectorizers import FittedVectorizer, TextVectorizer, vectorized
from codekin.datasets.writing import write_data

__all__ = [
    "DATASETS",
    "FORMATS",
    "DataError",
    "Dataset",
    "FittedVectorizer",
    "ReadOptions",
    "SparseData",
    "Split",
    "TextData",
    "TextVectorizer",
    "cached_data",
    "fetch",
    "iter_data",
    "load_dataset",
    "make_sparse_topics",
    "read_data",
    "read_taxonomy",
    "vectorized",
    "write_data",
]
