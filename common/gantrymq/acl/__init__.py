"""Decides which requests a server carries out: accounts, users, signatures and rights."""
