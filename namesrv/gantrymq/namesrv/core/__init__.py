"""Contains the decisions of the name server, without sockets, files or clocks."""
