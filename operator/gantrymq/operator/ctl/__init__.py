"""The program `kubectl gantry`: shows clusters, plans and topics, and requests switchovers."""
