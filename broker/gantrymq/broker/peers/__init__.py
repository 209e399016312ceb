"""Other servers: registration with name servers, and topics for the other masters."""
