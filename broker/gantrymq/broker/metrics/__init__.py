"""Reads a broker's metrics from its core when a page is made; `page.py` has the order.

Each module yields the samples of one subject. None changes anything, and none does work between two
pages: what has to be counted all along is in `broker.core.figures` and `broker.core.stats`.
"""
