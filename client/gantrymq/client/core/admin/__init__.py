"""Provides the administration requests to name servers and brokers, one class per kind of
resource."""
