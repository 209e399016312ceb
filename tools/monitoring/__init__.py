"""Generates the chart's dashboards and alert rules, and a runbook for each alert.

    panel.py        what a dashboard is: rows of panels of queries
    dashboards/     the dashboards, one module each
    grafana.py      a dashboard as Grafana's JSON
    alert.py        what an alert is: its expression, and what to do when it fires
    alerts/         the alerts, one module for each subject
    rules.py        alerts as a rule file of Prometheus
    runbooks.py     alerts as pages of docs/operations/alerts/
    promql.py       what the texts of queries have in common

`python -m tools.monitoring` writes all files; with `--check` it writes none and fails where one
differs. Queries name only metrics of `gantrymq.metrics` and those that Prometheus' own client has.
"""
