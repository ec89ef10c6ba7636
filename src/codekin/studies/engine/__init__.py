"""What every study shares: tasks, the journal of finished ones, the runner, the folder, checks of configurations."""
