"""TLS and accounts: certificates, contexts, files of accounts."""
