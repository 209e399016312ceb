"""Asks brokers for what a position of the options needs: times, or a group's offsets."""

from __future__ import annotations

from gantrymq.spark.options.read_options import ByGroup, Place
from gantrymq.spark.source.cluster import Cluster
from gantrymq.spark.source.planning.bounds import QueueBounds
from gantrymq.spark.source.planning.layout import Layout
from gantrymq.spark.source.planning.positions import Found, moments_wanted


def find(place: Place, cluster: Cluster, layout: Layout, bounds: QueueBounds) -> Found:
    """Return the answers for each queue; none if the options give offsets."""
    if isinstance(place, ByGroup):
        return cluster.offsets_of_group(layout, place.group, bounds)
    moments_ms = moments_wanted(place, bounds)
    return cluster.offsets_at(layout, moments_ms, bounds) if moments_ms else {}
