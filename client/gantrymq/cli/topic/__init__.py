"""Provides the commands that list, create, change and delete topics."""
