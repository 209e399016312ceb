"""The asyncio skin of the client: drives the flows of the core over real connections."""
