"""Provides a file system whose power a test can cut, under real programs."""
