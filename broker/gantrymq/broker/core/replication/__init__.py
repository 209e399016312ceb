"""The broker's role, and the tables that follow a master's log."""
