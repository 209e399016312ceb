"""Where name servers are, and what becomes of it when their list changes."""

from __future__ import annotations

import pytest

from gantrymq.client.core.errors import RouteError
from gantrymq.client.core.instance.instance import Instance
from gantrymq.client.core.instance.name_servers import NameServers
from gantrymq.client.core.instance.settings import ClientSettings
from gantrymq.fakes.brokers.cluster import NAME_SERVER, Cluster

URL = "http://names.example:8080/rocketmq/nsaddr"
ELSEWHERE = "127.0.0.1:9999"


def instance_of(cluster: Cluster, *addresses: str) -> Instance:
    names = NameServers(addresses, 0, 3.0, URL)
    return Instance(ClientSettings(), "me@1", cluster.driver.ports, names)


def test_a_page_lists_the_name_servers() -> None:
    cluster = Cluster()
    cluster.driver.pages[URL] = f" {ELSEWHERE} ; {NAME_SERVER};\nmore\n"
    instance = instance_of(cluster)
    assert cluster.driver.run(instance.route("T")).publish
    assert instance.name_servers.addresses == (ELSEWHERE, NAME_SERVER)


def test_the_page_is_fetched_again() -> None:
    cluster = Cluster()
    cluster.driver.pages[URL] = ELSEWHERE
    instance = instance_of(cluster)
    instance.start()
    with pytest.raises(RouteError, match="connect to name servers failed"):
        cluster.driver.run(instance.route("T"))
    cluster.driver.pages[URL] = NAME_SERVER
    cluster.driver.pass_time(120.0)
    assert cluster.driver.run(instance.route("T")).publish


@pytest.mark.parametrize("page", [None, "", " \n"])
def test_an_empty_page_changes_nothing(page: str | None) -> None:
    cluster = Cluster()
    cluster.driver.pages[URL] = NAME_SERVER
    instance = instance_of(cluster)
    instance.start()
    cluster.driver.run(instance.route("T"))
    del cluster.driver.pages[URL]
    if page is not None:
        cluster.driver.pages[URL] = page
    cluster.driver.pass_time(120.0)
    assert instance.name_servers.addresses == (NAME_SERVER,)
    assert "name servers not fetched, keeping the known ones" in cluster.driver.lines[-1]


def test_without_any_list_the_error_names_the_sources() -> None:
    cluster = Cluster()
    with pytest.raises(RouteError, match=f"the list of name servers at {URL} was not had"):
        cluster.driver.run(instance_of(cluster).route("T"))


def test_configured_name_servers_need_no_page() -> None:
    cluster = Cluster()
    instance = instance_of(cluster, NAME_SERVER)
    instance.start()
    cluster.driver.pass_time(300.0)
    assert cluster.driver.run(instance.route("T")).publish
    assert cluster.driver.lines == []
