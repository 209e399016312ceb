"""Provides fakes for tests of Topic resources."""
