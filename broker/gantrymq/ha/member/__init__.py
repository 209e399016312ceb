"""A member of a group that elects its master: links, followers, identity and state."""
