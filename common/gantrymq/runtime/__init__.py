"""The only I/O: sockets, files, clocks, HTTP, metrics, logs and the process itself."""
