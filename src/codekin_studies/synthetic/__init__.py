"""Six classes in the plane (App. A and B)."""
