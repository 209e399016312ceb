"""Accounts of plain_acl.yml: values, rights, and the file."""
