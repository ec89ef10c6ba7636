"""Compiled loops (Numba): arrays in, arrays out, no validation; every one has a readable twin in the tests."""

from codekin.kernels.cache import find_cache
from codekin.kernels.compiling import watch_compilations

find_cache()
watch_compilations()
