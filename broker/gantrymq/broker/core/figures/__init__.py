"""Counts requests and messages for the broker's metrics, and reads lags from the store."""
