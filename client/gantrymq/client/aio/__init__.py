"""Provides the asyncio API of the client, which drives the core's flows over real connections."""
