"""Requests of the operator to name servers and brokers, by `gantrymq.client`."""
