"""A checkup of a cluster: what is usually wrong, and what helps."""
