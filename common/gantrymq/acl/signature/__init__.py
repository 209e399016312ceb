"""Makes and checks signatures of requests, and maps client certificates to accounts."""
