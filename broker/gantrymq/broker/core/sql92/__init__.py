"""SQL92: the expressions by which consumers choose messages by their properties."""
