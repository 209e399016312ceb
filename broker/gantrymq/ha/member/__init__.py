"""Implements a member of a group that elects its master: its role, state and links."""
