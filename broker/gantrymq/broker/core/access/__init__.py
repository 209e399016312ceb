"""Holds the access rules of one broker: accounts, users and policies, and changes of them.

The package `acl` beside it checks requests against these rules; `gantrymq.acl` has the rules'
language and the guard, which name servers use too.
"""
