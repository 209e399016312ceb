"""Simulators: whole parts of the product under histories that a seed decides."""
