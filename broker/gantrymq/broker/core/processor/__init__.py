"""The handlers of requests, one package a subject."""
