"""Shared by all studies: tasks, the journal of finished ones, the runner, the folder, checks of configurations."""
