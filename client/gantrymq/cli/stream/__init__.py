"""Commands that send, consume and measure."""
