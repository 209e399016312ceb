"""What a member keeps on disk about itself and its log: identity and epochs."""
