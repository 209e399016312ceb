"""Builds the documentation site from docs/ and mkdocs.yml."""
