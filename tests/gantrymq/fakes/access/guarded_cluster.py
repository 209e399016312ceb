"""Provides a cluster whose brokers have users, with clients of the Super user root."""

from __future__ import annotations

from gantrymq.acl.signature.signature import Credentials
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.fakes.brokers.cluster import Cluster

ROOT = Credentials("root", "root-secret")
USERS = BrokerSettings(
    authentication_enabled=True,
    authorization_enabled=True,
    init_authentication_user='{"username":"root","password":"root-secret"}',
)


def guarded_cluster(*brokers: str) -> Cluster:
    """Each broker has the user root, and no topic."""
    return Cluster(*brokers, topics={}, settings=USERS, credentials=ROOT)
