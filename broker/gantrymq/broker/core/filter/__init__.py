"""Filters of consumer groups: tags, SQL92 and the table of expressions."""
