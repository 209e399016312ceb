"""The name server: keeps in memory which broker serves which topic, and answers route queries."""
