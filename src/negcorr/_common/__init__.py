"""Helpers of all subpackages: arrays, threads, LAPACK, files, checks, progress, number text."""
