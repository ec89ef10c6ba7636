"""Compiled loops (Numba): arrays in, arrays out, no validation; every one has a readable twin in the tests."""

from codekin.kernels.compiling import SHIPPED, find_cache
from codekin.kernels.compiling import WATCH as WATCH  # reports every compilation from now on

if not SHIPPED.exists():
    find_cache()  # before there are worker processes, which then find the same folder
