"""What the producers and consumers of one client id share."""
