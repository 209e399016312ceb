"""Parses and evaluates SQL92 expressions, by which consumers filter messages by properties."""
