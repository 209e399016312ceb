"""The broker: requests of producers, consumers and administrators, on a store."""
