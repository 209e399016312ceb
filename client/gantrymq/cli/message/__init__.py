"""Commands about stored messages."""
