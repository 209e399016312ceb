"""Push consumers: listeners that are called with what comes."""
