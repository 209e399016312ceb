"""The command line: RocketMQ's mqadmin commands as `gantry NAME`, and Gantry's own."""
