"""Writes DataFrames to topics: `df.write` and `df.writeStream` of `format("rocketmq")`."""
