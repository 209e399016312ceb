"""Sends: from the request to the record, and sends that are forwarded to the master."""
