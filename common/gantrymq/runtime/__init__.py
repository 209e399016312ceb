"""Performs all I/O of the product: sockets, files, clocks, HTTP, metrics, logs and processes."""
