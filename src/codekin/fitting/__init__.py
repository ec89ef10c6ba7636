"""From settings and samples to a model: what is chosen, by whom, and in which order it is learned."""
