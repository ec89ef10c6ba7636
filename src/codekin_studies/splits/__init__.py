"""Two-way splits of the classes, learned once, and sweeps over every assignment that look them up."""
