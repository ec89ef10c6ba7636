"""From margins back to classes."""
