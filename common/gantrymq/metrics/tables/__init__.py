"""Defines the metrics of each component, one component a module."""
