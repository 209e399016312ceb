"""Contains the scenarios that Gantry's own client plays with brokers."""
