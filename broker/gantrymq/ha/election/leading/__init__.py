"""Implements what the leader elector of a master does: renewals, deadlines, hand-overs."""
