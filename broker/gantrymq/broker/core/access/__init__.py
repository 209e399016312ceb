"""Holds one broker's accounts, users, policies, and the proofs of forwarded sends.

The package `acl` beside it checks requests against these rules; `gantrymq.acl` has the rules'
language and the guard, which name servers use too.
"""
