"""Writes the tables in docs/reference/ from the code; `make docs`.

A test in tests/tidy fails while a written table differs from what the code says.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from gantrymq.base.settings import SettingField, setting_fields
from gantrymq.namesrv.core.requests import REQUESTS
from gantrymq.namesrv.core.settings import NameServerSettings
from gantrymq.store.settings import StoreSettings
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.header import Header, required_names, wire_names
from gantrymq.wire.headers.table import REQUEST_HEADERS, RESPONSE_HEADERS

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
        served = "name server" if code in REQUESTS else ""
        asked, answered = _header(REQUEST_HEADERS.get(code)), _header(RESPONSE_HEADERS.get(code))
        lines.append(f"| {int(code)} | {code.name} | {asked} | {answered} | {served} |")
    return "\n".join(lines) + "\n"


def _header(header: type[Header] | None) -> str:
    if header is None:
        return ""
    required = required_names(header)
    return ", ".join(f"`{name}{'!' if name in required else ''}`" for name in wire_names(header))


def name_server_settings_page() -> str:
    """Every key of namesrv.properties."""
    about = "Keys of a properties file; as a variable `listenPort` is `GANTRY_LISTEN_PORT`."
    return _settings_page("the name server", about, NameServerSettings)


def store_settings_page() -> str:
    """Every key of broker.conf that the store knows."""
    about = "Keys of `broker.conf`, in the properties format."
    return _settings_page("the store", about, StoreSettings)


def _settings_page(of: str, about: str, settings: type) -> str:
    lines = [
        f"# Settings of {of}",
        _MADE,
        about,
        "",
        "| key | default | unit | allowed | meaning |",
        "|---|---|---|---|---|",
    ]
    lines += [_setting(each) for each in setting_fields(settings)]
    return "\n".join(lines) + "\n"


def _setting(each: SettingField) -> str:
    default = str(each.default).lower() if isinstance(each.default, bool) else str(each.default)
    shown = f"`{default}`" if default else ""
    return f"| `{each.key}` | {shown} | {each.unit} | {each.allowed} | {each.about} |"


PAGES: Final[dict[str, Callable[[], str]]] = {
    "codes.md": codes_page,
    "namesrv-settings.md": name_server_settings_page,
    "store-settings.md": store_settings_page,
}


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, page in PAGES.items():
        (FOLDER / name).write_text(page())
        print(f"wrote docs/reference/{name}")


if __name__ == "__main__":
    main()
