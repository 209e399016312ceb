"""Starts real RocketMQ servers and clients, and drives them from Python tests."""
