"""What must be true of a simulated group."""
