"""Provides the files of a store: log segments, open handles, and small files of its own state."""
