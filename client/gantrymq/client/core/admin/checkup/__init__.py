"""Checks a cluster for common problems and names their fixes."""
