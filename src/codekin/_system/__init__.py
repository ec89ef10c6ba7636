"""Below the method: files, locks, memory, threads and workers. Private to the package."""
