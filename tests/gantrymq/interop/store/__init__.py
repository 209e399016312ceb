"""Compares stores and metrics of Java's brokers and Gantry's."""
