"""What every room may use: arrays, threads, LAPACK, files, checks, progress, number text."""
