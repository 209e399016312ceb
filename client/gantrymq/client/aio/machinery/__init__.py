"""Provides what asyncio clients run on: the flow driver, configuration, ids and environment."""
