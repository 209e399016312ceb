"""What may be asked for: rights, actions, callers and refusals."""
