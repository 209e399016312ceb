"""Pulls: what they read, how they wait, and consumers that must go elsewhere."""
