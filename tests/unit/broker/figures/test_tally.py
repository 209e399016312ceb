"""Tests tables of counts: their limit, and the keys that they drop."""

from gantrymq.broker.core.figures.tally import IDLE_SWEEPS, Count, Table, Tally


def is_kept(key: str) -> bool:
    return False


def test_counts_are_kept_by_key() -> None:
    tally: Tally[str] = Tally()
    for key, times in (("a", 1), ("b", 2), ("a", 3)):
        tally.add(key, times)
    assert dict(tally.items()) == {"a": 4, "b": 2}


def test_keys_beyond_the_limit_are_not_counted() -> None:
    table: Table[str, Count] = Table(Count, limit=1)
    assert table.use("a") is not None
    assert table.use("b") is None
    assert table.use("a") is not None
    assert (len(table), table.left_out) == (1, 1)


def test_keys_that_no_longer_exist_are_removed() -> None:
    tally: Tally[str] = Tally()
    tally.add("a")
    tally.add("b")
    tally.sweep(lambda key: key == "a")
    assert dict(tally.items()) == {"b": 1}
    tally.drop(lambda key: key == "b")
    assert dict(tally.items()) == {}


def test_keys_idle_for_a_day_are_removed() -> None:
    tally: Tally[str] = Tally()
    tally.add("idle")
    for _ in range(IDLE_SWEEPS):
        tally.add("busy")
        tally.sweep(is_kept)
    assert dict(tally.items()) == {"idle": 1, "busy": IDLE_SWEEPS}
    tally.sweep(is_kept)
    assert list(dict(tally.items())) == ["busy"]


def test_idle_keys_are_kept_if_only_drop_is_called() -> None:
    tally: Tally[str] = Tally()
    tally.add("idle")
    for _ in range(IDLE_SWEEPS + 1):
        tally.drop(is_kept)
    assert dict(tally.items()) == {"idle": 1}


def test_entries_may_go_while_they_are_gone_through() -> None:
    tally: Tally[str] = Tally()
    for key in "abc":
        tally.add(key)
    items = tally.items()
    assert next(items) == ("a", 1)
    tally.drop(lambda key: key == "b")
    tally.add("d")
    assert list(items) == [("c", 1)]
