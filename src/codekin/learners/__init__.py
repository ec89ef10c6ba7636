"""Who learns the bits."""
