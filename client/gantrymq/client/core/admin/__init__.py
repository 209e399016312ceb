"""Administration: flows by noun, each a question or an order to name servers and brokers."""
