"""The resource Topic: spec, rules and status."""
