"""Data: readers for sparse and text files, taxonomies, a registry of data sets, and embedded sets."""

from codekin.data.caching import cached_data
from codekin.data.class_files import read_taxonomy
from codekin.data.datasets import DataError, Dataset, SparseData, Split, TextData
from codekin.data.embedded import make_sparse_topics
from codekin.data.options import ReadOptions
from codekin.data.reading import FORMATS, iter_data, read_data
from codekin.data.registry import DATASETS, fetch, load_dataset
from codekin.data.vectorizers import FittedVectorizer, TextVectorizer, vectorized
from codekin.data.writing import write_data

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
