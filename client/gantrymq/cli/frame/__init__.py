"""The parts that all commands share: options, pages, progress, input and output, failures."""
