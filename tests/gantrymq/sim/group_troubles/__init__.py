"""What befalls a simulated group: one module a kind of trouble, and `table` of all of them."""
