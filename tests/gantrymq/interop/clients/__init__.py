"""Real clients, and the scenarios that they play."""
