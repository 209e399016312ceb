"""What every command is made of: options, pages, progress, completion, failures."""
