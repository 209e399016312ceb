"""The objects that a cluster consists of, as the operator wants them."""
