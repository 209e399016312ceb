"""Leader election of the operator."""
