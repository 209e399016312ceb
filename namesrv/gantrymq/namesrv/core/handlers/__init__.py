"""Handles requests, grouped by the kind of their sender."""
