"""stub"""
COMMANDS: dict[str, object] = {}
