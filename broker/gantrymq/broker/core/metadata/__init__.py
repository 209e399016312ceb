"""Topics and consumer groups: their tables, names, creation, attributes and requests."""
