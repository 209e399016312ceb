"""Manages the users and policies of one broker: the table, its file, and requests 3001 to 3010."""
