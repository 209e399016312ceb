"""Holds the tables of routes, live brokers and registrations, and answers queries."""
