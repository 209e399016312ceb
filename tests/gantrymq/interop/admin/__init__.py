"""mqadmin and gantry side by side."""
