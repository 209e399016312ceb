"""Defines flows, the coroutines of the core, and the tools that they share."""
