"""Tests the text format: the lines, the pieces, and the series that the limit leaves out."""

from prometheus_client.parser import text_string_to_metric_families

from gantrymq.metrics.family import Table
from gantrymq.metrics.histogram import Histogram
from gantrymq.metrics.samples import Row, Samples, base_text, one
from gantrymq.metrics.text import LINES_A_PIECE, PageWriter

TABLE = Table("test", "Test")
TOPICS = TABLE.gauge("topics", "Topics there are")
SENT = TABLE.counter("sent_total", "Messages sent", ("topic", "type"))
SIZES = TABLE.histogram("sizes", "Sizes of messages", ("topic",), buckets=(10, 100.5))
WAITS = TABLE.histogram("waits", "Waits", buckets=(1,))


def text_of(*samples: Samples, series_max: int = 1000) -> str:
    return "".join(PageWriter(series_max).pieces(samples))


def test_a_metric_without_labels() -> None:
    assert text_of(one(TOPICS, 22)) == (
        "# HELP topics Topics there are\n# TYPE topics gauge\ntopics 22.0\n"
    )


def test_a_truth_is_a_number() -> None:
    assert text_of(one(TOPICS, value=True)).endswith("topics 1.0\n")


def test_labels_come_behind_those_of_the_base() -> None:
    base = base_text({"cluster": "100%", "node": 'a"b'})
    text = text_of(Samples(SENT, [(("T", "normal"), 3), (("U", "fifo"), 0.5)], base))
    assert text.splitlines()[2:] == [
        r'sent_total{cluster="100%",node="a\"b",topic="T",type="normal"} 3.0',
        r'sent_total{cluster="100%",node="a\"b",topic="U",type="fifo"} 0.5',
    ]


def test_a_base_without_labels_of_the_metric() -> None:
    assert text_of(Samples(TOPICS, [((), 1)], 'a="b"')).endswith('topics{a="b"} 1.0\n')


def test_reserved_characters_in_labels_are_escaped() -> None:
    text = text_of(Samples(SENT, [(('"\\\n', "%d"), 1)]))
    assert text.splitlines()[2] == r'sent_total{topic="\"\\\n",type="%d"} 1.0'


def test_a_histogram_counts_what_is_below_each_bound() -> None:
    sizes = Histogram(SIZES.buckets)
    for value, times in ((10, 2), (11, 1), (1000, 3)):
        sizes.note(value, times)
    assert text_of(Samples(SIZES, [(("T",), sizes)], 'a="b"')).splitlines()[1:] == [
        "# TYPE sizes histogram",
        'sizes_bucket{a="b",topic="T",le="10.0"} 2.0',
        'sizes_bucket{a="b",topic="T",le="100.5"} 3.0',
        'sizes_bucket{a="b",topic="T",le="+Inf"} 6.0',
        'sizes_sum{a="b",topic="T"} 3031.0',
        'sizes_count{a="b",topic="T"} 6.0',
    ]


def test_a_histogram_without_labels() -> None:
    assert text_of(Samples(WAITS, [((), Histogram(WAITS.buckets))])).splitlines()[2:] == [
        'waits_bucket{le="1.0"} 0.0',
        'waits_bucket{le="+Inf"} 0.0',
        "waits_sum 0.0",
        "waits_count 0.0",
    ]


def test_prometheus_reads_what_is_written() -> None:
    sizes = Histogram(SIZES.buckets)
    sizes.note(50)
    page = (one(TOPICS, 3), Samples(SENT, [(("T%s", 'n"'), 7)]), Samples(SIZES, [(("T",), sizes)]))
    families = {each.name: each for each in text_string_to_metric_families(text_of(*page))}
    assert {name: each.type for name, each in families.items()} == {
        "topics": "gauge",
        "sent": "counter",
        "sizes": "histogram",
    }
    (sent,) = families["sent"].samples
    assert sent.labels == {"topic": "T%s", "type": 'n"'}
    assert sent.value == 7


def test_a_piece_is_short_and_ends_with_its_line() -> None:
    rows: list[Row] = [((f"T{number}", "normal"), number) for number in range(1000)]
    histograms: list[Row] = [((f"T{number}",), Histogram(SIZES.buckets)) for number in range(100)]
    page = (Samples(SENT, rows), Samples(SIZES, histograms))
    pieces = list(PageWriter(10_000).pieces(page))
    assert all(piece.count("\n") <= LINES_A_PIECE + 2 for piece in pieces)
    assert all(piece.endswith("\n") for piece in pieces if piece)
    assert "".join(pieces).count("\n") == 4 + 1000 + 500


def test_rows_are_taken_as_the_page_is_written() -> None:
    taken = []

    def rows() -> "list[Row]":
        taken.append(1)
        return [(("T", "normal"), 1)]

    pieces = PageWriter(10).pieces(Samples(SENT, rows()) for _ in range(2))
    assert taken == []
    next(pieces)
    assert taken == [1]


def test_series_beyond_the_limit_are_counted_and_left_out() -> None:
    writer = PageWriter(series_max=250)
    rows: list[Row] = [((f"T{number}", "normal"), number) for number in range(1000)]
    text = "".join(writer.pieces((Samples(SENT, rows), one(TOPICS, 1))))
    assert text.count("sent_total{") == 250
    assert writer.dropped == {"sent_total": 750}
    assert text.endswith("topics 1.0\n")
