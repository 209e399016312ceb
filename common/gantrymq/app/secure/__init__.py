"""Implements `gantry secure`, which creates certificates, accounts and secrets for servers."""
