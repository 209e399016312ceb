"""Files of a store: segments, open handles, and small files that are replaced as a whole."""
