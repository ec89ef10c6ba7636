"""Readable twins of the kernels: slow, obvious, and trusted."""
