"""Implements the accounts of RocketMQ 4's plain_acl.yml: values, rights, and the file."""
