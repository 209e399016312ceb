"""The client for programs without asyncio: wraps the asyncio skin."""
