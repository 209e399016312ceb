"""Records in the audit trail who changed what, with the values before and after."""
