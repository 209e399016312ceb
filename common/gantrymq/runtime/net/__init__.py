"""Sockets: servers, channels, dialers and what writes to them."""
