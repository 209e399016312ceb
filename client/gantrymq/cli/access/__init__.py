"""Commands for users, policies and quotas."""
