"""Conditions of the resources, and what each of their reasons means."""
