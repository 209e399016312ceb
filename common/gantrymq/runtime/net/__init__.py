"""Provides sockets: servers, channels, dialers, and the buffers and timers that they use."""
