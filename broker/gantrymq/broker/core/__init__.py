"""The broker's decisions, without sockets, files or clocks."""
