"""Connections that have not proved themselves: a bounded number, whatever one address does."""

from __future__ import annotations

from dataclasses import dataclass

from gantrymq.broker.links.unauthenticated_links import UNPROVEN_MAX, UnauthenticatedLinks


@dataclass(frozen=True)
class Connection:
    """One, from somewhere."""

    host: str
    number: int


def test_an_address_that_floods_closes_its_own_connections() -> None:
    unproven = UnauthenticatedLinks[Connection]()
    slave = Connection("10.0.0.2", 0)
    assert unproven.add(slave) is None
    flood = [Connection("10.6.6.6", number) for number in range(1000)]
    closed = [unproven.add(each) for each in flood]
    assert [each for each in closed if each] == flood[: 1000 - UNPROVEN_MAX + 1]
    assert len(unproven.all()) == UNPROVEN_MAX
    assert slave in unproven.all()


def test_a_newcomer_is_not_closed_for_a_crowd() -> None:
    unproven = UnauthenticatedLinks[Connection]()
    crowd = [Connection("10.6.6.6", number) for number in range(UNPROVEN_MAX)]
    for each in crowd:
        assert unproven.add(each) is None
    slave = Connection("10.0.0.2", 0)
    assert unproven.add(slave) == crowd[0]
    assert slave in unproven.all()


def test_of_many_addresses_the_oldest_goes() -> None:
    unproven = UnauthenticatedLinks[Connection]()
    crowd = [Connection(f"10.6.6.{number}", number) for number in range(UNPROVEN_MAX + 1)]
    assert [unproven.add(each) for each in crowd][-1] == crowd[0]


def test_a_connection_that_has_proved_itself_is_not_counted_any_more() -> None:
    unproven = UnauthenticatedLinks[Connection]()
    connection = Connection("10.0.0.2", 0)
    unproven.add(connection)
    assert unproven.remove(connection)
    assert not unproven.remove(connection)
    assert not unproven.all()
