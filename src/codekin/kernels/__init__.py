"""Compiled loops (Numba): arrays in, arrays out, no validation; every one has a readable twin in the tests."""

from codekin.kernels.calling import SHIPPED

if not SHIPPED.exists():
    from codekin.kernels.compiling import find_cache

    find_cache()  # before there are worker processes, which then find the same folder
