"""`kubectl gantry`: shows clusters, plans and topics, and asks for switchovers."""
