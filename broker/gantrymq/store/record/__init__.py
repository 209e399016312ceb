"""Parts of requests and records: properties, batches, delay levels, outcomes of a put."""
