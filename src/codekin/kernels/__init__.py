"""Compiled loops (Numba): arrays in, arrays out, no validation; every one has a readable twin in the tests."""
