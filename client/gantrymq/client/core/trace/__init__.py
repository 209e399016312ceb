"""Message traces: their texts, and how they leave."""
