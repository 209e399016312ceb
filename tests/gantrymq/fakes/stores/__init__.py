"""Provides stores on the disks of tests."""
