"""Data: readers for sparse and text files, taxonomies, a registry of data sets, and embedded sets."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

_HOME = {
    "DATASETS": "registry",
    "DataError": "datasets",
    "Dataset": "datasets",
    "FORMATS": "reading",
    "FittedVectorizer": "vectorizers",
    "ReadOptions": "options",
    "SparseData": "datasets",
    "Split": "datasets",
    "TextData": "datasets",
    "TextVectorizer": "vectorizers",
    "cached_data": "caching",
    "fetch": "registry",
    "iter_data": "reading",
    "load_dataset": "registry",
    "make_sparse_topics": "embedded",
    "read_data": "reading",
    "read_taxonomy": "class_files",
    "vectorized": "vectorizers",
    "write_data": "writing",
}


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    if name in _HOME:  # a model that predicts needs only few of them
        return getattr(import_module(f"codekin.data.{_HOME[name]}"), name)
    raise AttributeError(f"module 'codekin.data' has no attribute {name!r}")
