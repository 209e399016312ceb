"""Loads certificates, TLS contexts, tokens and files of accounts."""
