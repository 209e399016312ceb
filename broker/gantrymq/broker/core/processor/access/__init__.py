"""Requests that change accounts, users and policies."""
