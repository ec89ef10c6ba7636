"""Compiled loops (Numba): arrays in, arrays out, no validation; every one has a readable twin in the tests."""

from codekin.kernels.cache import find_cache
from codekin.kernels.compiling import WATCH as WATCH  # reports every compilation from now on

find_cache()
