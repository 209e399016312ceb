"""`gantry secure`: makes what servers need to protect themselves."""
