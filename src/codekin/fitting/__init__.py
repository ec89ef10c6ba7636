"""From settings and samples to a model: what is chosen, how, and in which order it is trained."""
