"""The name server's core: its decisions, without sockets, files or clocks."""
