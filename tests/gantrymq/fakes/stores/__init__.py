"""Stores on disks of the tests."""
