"""Messages: as stored records, as batches, and the properties, ids and tags in them."""
