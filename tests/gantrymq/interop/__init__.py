"""Real RocketMQ, started and driven from Python tests."""
