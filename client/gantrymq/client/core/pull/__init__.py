"""Implements pulls, pull consumers, and readers of topics without a group."""
