"""Messages as applications make and receive them."""
