"""Encodes and decodes messages: stored records, batches, and their properties, ids and tags."""
