"""What the operator asks name servers and brokers, by `gantrymq.client`."""
