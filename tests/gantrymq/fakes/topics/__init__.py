"""Fakes for tests of Topic resources."""
