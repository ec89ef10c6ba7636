"""What lies under the method: files, locks, memory, threads and workers. Nobody outside the package needs it."""
