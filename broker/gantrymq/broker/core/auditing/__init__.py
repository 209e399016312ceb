"""The broker's side of the audit trail: who changed what, and the values before and after."""
