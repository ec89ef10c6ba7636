"""A hundred classes (App. E)."""
