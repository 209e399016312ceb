"""Provides a cluster with a topic controller to the tests of this folder."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gantrymq.client.aio.admin import Admin
from gantrymq.fakes.topics.topic_cluster import topic_cluster
from gantrymq.fakes.topics.topic_stage import TRACES, TopicStage


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[TopicStage]:
    async with (
        topic_cluster(tmp_path, msgTraceTopicName=TRACES) as cluster,
        Admin(name_servers=cluster.name_server) as admin,
    ):
        stage = TopicStage(cluster, admin)
        try:
            yield stage
        finally:
            await stage.controller.close()
