"""The machines, network and API of a simulated group."""
