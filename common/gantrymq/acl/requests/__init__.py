"""What each request needs."""
