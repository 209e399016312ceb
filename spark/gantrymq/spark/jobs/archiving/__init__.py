"""Archives: their files, records, tables and compaction."""
