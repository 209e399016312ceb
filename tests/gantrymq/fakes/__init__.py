"""Provides fakes that several test modules share."""
