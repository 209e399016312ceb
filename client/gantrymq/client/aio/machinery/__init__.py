"""What the asyncio clients run on: the driver of flows, starts, ids, the environment outside."""
