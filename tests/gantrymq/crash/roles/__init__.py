"""What the client program does with a broker that is killed."""
