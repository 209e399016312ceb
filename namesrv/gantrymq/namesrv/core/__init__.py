"""The name server's decisions, without sockets, files or clocks."""
