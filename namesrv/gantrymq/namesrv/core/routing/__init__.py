"""The tables of routes: registrations, living brokers, and the questions about them."""
