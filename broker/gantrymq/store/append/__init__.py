"""Appends: from send requests to records in the log, in groups of one turn, and their answers."""
