"""Attacks on live servers: raw peers, legitimate clients beside them, and what both of them saw."""
