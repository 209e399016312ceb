"""Values for every field of the resources: which are accepted, which are refused and how."""
