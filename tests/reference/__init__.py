"""Readable twins of the kernels: slow and obviously right."""
