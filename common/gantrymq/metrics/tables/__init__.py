"""The metrics of each component, one module each."""
