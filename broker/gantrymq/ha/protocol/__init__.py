"""The bytes between members, and their proofs."""
