"""Records message traces and sends them to the trace topic."""
