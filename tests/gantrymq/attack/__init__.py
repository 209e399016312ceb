"""Attacks live servers: attackers' connections, legitimate clients beside them, and the records."""
