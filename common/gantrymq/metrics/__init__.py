"""Defines every metric in one table and writes Prometheus' text format from values.

    family.py       Family, Kind and Table: what a metric is
    tables/         the metrics of each component, in the order of its page
    catalogue.py    all tables, for the reference page, dashboards and alert rules
    samples.py      Samples: a family with the values of one moment
    text.py         the text format, in slices
    histogram.py    Histogram: counts by bucket

Invariant: no I/O and no clock. A component reads its own state into Samples; `runtime.metrics`
steps the writer between other work of the event loop.
"""
