"""Fakes of groups that elect their master."""
