"""The command line: `gantry topicList`, `gantry doctor` and the like."""
