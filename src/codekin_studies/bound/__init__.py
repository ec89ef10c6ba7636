"""The bound on the training error against that error (Sec. 2, 4.1.1)."""
