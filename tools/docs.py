"""Writes the generated tables and diagrams of docs/ from the code; `make docs`.

A test in tests/tidy fails while a written table differs from what the code says.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

from gantrymq.audit.actions import ACTIONS, NOT_AUDITED
from gantrymq.base.configuration.settings import SettingField, setting_fields
from gantrymq.broker.core.processor.admin import unsupported
from gantrymq.broker.core.processor.requests import REQUEST_CODES as BROKER_REQUESTS
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.metrics.catalogue import TABLES
from gantrymq.metrics.family import Family, Kind, Table
from gantrymq.namesrv.core.requests import REQUESTS as NAME_SERVER_REQUESTS
from gantrymq.namesrv.core.settings import NameServerSettings
from gantrymq.spark.columns import COLUMNS
from gantrymq.spark.options.table import OPTIONS, Option
from gantrymq.spark.session import CONFIGURATION
from gantrymq.store.settings import StoreSettings
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.header import Header, required_names, wire_names
from gantrymq.wire.headers.table import REQUEST_HEADERS, RESPONSE_HEADERS
from tools import state_diagrams
from tools.command_reference import commands_page
from tools.formats import blocks

FOLDER: Final = Path(__file__).resolve().parent.parent / "docs" / "reference"
_MADE: Final = "<!-- Made by `make docs`; edit the code instead. -->\n"


def codes_page() -> str:
    """Every request code: its header fields and which of our servers answers it."""
    lines = [
        "# Request codes",
        _MADE,
        "Fields marked `!` are required. A code without a server is answered with",
        "REQUEST_CODE_NOT_SUPPORTED.",
        "",
        "| code | name | request fields | response fields | served by |",
        "|---|---|---|---|---|",
    ]
    for code in RequestCode:
        served = ", ".join(_servers(code))
        asked, answered = _header(REQUEST_HEADERS.get(code)), _header(RESPONSE_HEADERS.get(code))
        lines.append(f"| {int(code)} | {code.name} | {asked} | {answered} | {served} |")
    return "\n".join(lines) + "\n"


def _servers(code: RequestCode) -> list[str]:
    """The servers that carry out the request; a broker that only refuses it is not one."""
    servers = []
    if code in NAME_SERVER_REQUESTS:
        servers.append("name server")
    if code in BROKER_REQUESTS and code not in unsupported.REASONS:
        servers.append("broker")
    return servers


def requests_page() -> str:
    """What a broker makes of every request."""
    lines = [
        "# Requests to a broker",
        _MADE,
        "A broker answers a request that it does not serve with REQUEST_CODE_NOT_SUPPORTED.",
        "The last column has the reason that it gives.",
        "",
        "| code | name | a broker | why not |",
        "|---|---|---|---|",
    ]
    for code in RequestCode:
        reason = unsupported.REASONS.get(code, "")
        state = "serves it" if code in BROKER_REQUESTS and not reason else "does not"
        lines.append(f"| {int(code)} | {code.name} | {state} | {reason} |")
    return "\n".join(lines) + "\n"


def _header(header: type[Header] | None) -> str:
    if header is None:
        return ""
    required = required_names(header)
    return ", ".join(f"`{name}{'!' if name in required else ''}`" for name in wire_names(header))


def name_server_settings_page() -> str:
    """Every key of namesrv.properties."""
    about = (
        "Keys of a properties file. The environment variable of `listenPort` is\n"
        "`GANTRY_LISTEN_PORT`, and so on.\n\n"
        f"{_changes_text('name server', 'UPDATE_NAMESRV_CONFIG', 'updateNamesrvConfig')}"
    )
    return _settings_page("the name server", about, NameServerSettings)


def broker_settings_page() -> str:
    """Every key of broker.conf but the store's."""
    about = (
        "Keys of `broker.conf`, in the properties format. The environment variable of\n"
        "`listenPort` is `GANTRY_LISTEN_PORT`, and so on. The\n"
        "[settings of the store](store-settings.md) are in the same file.\n\n"
        f"{_CHANGES}"
    )
    return _settings_page("the broker", about, BrokerSettings)


def store_settings_page() -> str:
    """Every key of broker.conf that the store knows."""
    about = f"Keys of `broker.conf`, in the properties format.\n\n{_CHANGES}"
    return _settings_page("the store", about, StoreSettings)


def _changes_text(server: str, request: str, command: str) -> str:
    return (
        f"An administrator may change keys that change *at once* while the {server} runs, by\n"
        f"{request} (`mqadmin {command}`). All others are read when it starts, and\n"
        "requests to change them are refused. Those marked *never by request* are refused with\n"
        "code 16, as RocketMQ refuses the keys of its black list. A *secret* is shown as `***`."
    )


_CHANGES: Final = _changes_text("broker", "UPDATE_BROKER_CONFIG", "updateBrokerConfig")


def _settings_page(of: str, about: str, settings: type) -> str:
    lines = [
        f"# Settings of {of}",
        _MADE,
        about,
        "",
        "| key | default | unit | allowed | meaning | changes |",
        "|---|---|---|---|---|---|",
        *map(_setting, setting_fields(settings)),
    ]
    return "\n".join(lines) + "\n"


def _setting(each: SettingField) -> str:
    default = str(each.default).lower() if isinstance(each.default, bool) else str(each.default)
    shown = f"`{default}`" if default else ""
    about = f"secret; {each.about}" if each.is_secret else each.about
    cells = (f"`{each.key}`", shown, each.unit, each.allowed, about, each.changes.value)
    return "| " + " | ".join(cells) + " |"


def spark_options_page() -> str:
    """Every option of Spark's format `rocketmq`."""
    lines = [
        "# Options of the Spark format `rocketmq`",
        _MADE,
        "Names are taken in any case. An option without a default is unset. A wrong option fails",
        "the query before any task starts; the error names the option, its value and what is",
        "allowed.",
        "",
        "| option | counts for | default | allowed | meaning |",
        "|---|---|---|---|---|",
        *map(_spark_option, OPTIONS),
    ]
    return "\n".join(lines) + "\n"


def _spark_option(option: Option[Any]) -> str:  # Any: each has its own type of value
    names = " or ".join(f"`{name}`" for name in (option.name, *option.aliases))
    default = "" if option.default is None else f"`{option.default}`"
    cells = (names, option.use.text, default, option.kind.allowed, option.meaning)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def spark_columns_page() -> str:
    """Every column that a read can make, and what a session should be set to."""
    lines = [
        "# Columns of the Spark format `rocketmq`",
        _MADE,
        "A read makes all of them unless its schema or the option `columns` names some. Every",
        "column can be null. `propertiesFormat=json` makes `properties` a string.",
        "",
        "| column | type | meaning |",
        "|---|---|---|",
        *(f"| `{each.name}` | {each.spark_type.simpleString()} | {each.doc} |" for each in COLUMNS),
        "",
        "## Settings of a session",
        "",
        "`gantrymq.spark.configure(builder)` sets these.",
        "",
        "| setting | value | why |",
        "|---|---|---|",
        *(f"| `{each.name}` | {each.value} | {each.reason} |" for each in CONFIGURATION),
    ]
    return "\n".join(lines) + "\n"


def audit_page() -> str:
    """Every request that is audited, and why the others are not."""
    lines = [
        "# Audited requests",
        _MADE,
        "Each of these leaves an entry in the [audit trail](../operations/security/audit.md).",
        "",
        "| code | request | action | old and new value | server |",
        "|---|---|---|---|---|",
    ]
    for code in sorted(ACTIONS):
        action, name = ACTIONS[code], RequestCode(code).name
        servers = ", ".join(_servers(RequestCode(code)))
        lines.append(f"| {int(code)} | {name} | `{action.name}` | {action.values} | {servers} |")
    lines += [
        "",
        "These leave none, unless their sender did not prove its account:",
        "",
        "| code | request | why not |",
        "|---|---|---|",
    ]
    for code in sorted(NOT_AUDITED):
        lines.append(f"| {int(code)} | {RequestCode(code).name} | {NOT_AUDITED[code]} |")
    return "\n".join(lines) + "\n"


_METRICS_ABOUT: Final = """\
Each server process serves a page in Prometheus' text format at `/metrics` of its `metricsPort`. The
page also has the standard metrics `process_*` and `python_gc_*`, which are not listed here. Labels
that all metrics of a table have are named above the table. Panels are those of the dashboards, and
alerts those of the rules, that the chart installs."""


def metrics_page() -> str:
    """The page that lists every metric by the process that has it."""
    lines = ["# Metrics", _MADE, _METRICS_ABOUT]
    for table in TABLES:
        lines += ["", f"## {table.title}", "", _metrics_place(table), ""]
        lines += ["| metric | type | unit | labels | meaning | panel | alert |"]
        lines += ["|---|---|---|---|---|---|---|"]
        lines += map(_metric, table)
    return "\n".join(lines) + "\n"


def _metrics_place(table: Table) -> str:
    labels = ", ".join(f"`{label}`" for label in table.base_labels)
    told = f"`{table.path}` of each {table.component}" if table.component != "process" else "All"
    return f"{told}; labels of all: {labels}." if labels else f"{told}."


def _metric(family: Family) -> str:
    kind = family.kind.value
    if family.kind is Kind.HISTOGRAM:
        kind += " (le " + ", ".join(f"{bound}" for bound in family.buckets) + ")"
    labels = ", ".join(f"`{label}`" for label in family.labels)
    cells = (f"`{family.name}`", kind, family.unit, labels, family.help, family.panel, family.alert)
    return f"| {' | '.join(cells)} |"


PAGES: Final[dict[str, Callable[[], str]]] = {
    "audit.md": audit_page,
    "broker-settings.md": broker_settings_page,
    "codes.md": codes_page,
    "commands.md": partial(commands_page, _MADE),
    "metrics.md": metrics_page,
    "namesrv-settings.md": name_server_settings_page,
    "requests.md": requests_page,
    "spark-columns.md": spark_columns_page,
    "spark-options.md": spark_options_page,
    "store-settings.md": store_settings_page,
}


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, page in PAGES.items():
        (FOLDER / name).write_text(page())
        print(f"wrote docs/reference/{name}")
    for path in sorted(blocks.FOLDER.glob("*.md")):
        path.write_text(blocks.filled(path.read_text()))
        print(f"filled docs/formats/{path.name}")
    state_diagrams.write()


if __name__ == "__main__":
    main()
