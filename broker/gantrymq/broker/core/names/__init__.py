"""The names of topics and groups: rules, system names, retry topics, pop handles."""
