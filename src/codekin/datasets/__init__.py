"""Data: embedded sets and readers."""
