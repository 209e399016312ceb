"""The name server: which broker serves which topic, held in memory, told to whoever asks."""
