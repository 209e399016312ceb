"""Topics of real brokers for tests of the Spark source, and what a reader makes of them."""
