"""Records in the audit trail what an administrator's request changed."""
