"""Holds what the producers and consumers of one client id share: routes and heartbeats."""
