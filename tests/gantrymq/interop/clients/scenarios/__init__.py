"""Scenarios that every real client plays, one module for each subject.

`scenario` defines what a scenario is, `catalogue` lists all of them.
"""
