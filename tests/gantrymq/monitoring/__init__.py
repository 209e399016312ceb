"""A real Prometheus for tests, and what it scrapes and checks."""
