"""The real disk and files on it."""
