"""Changes what MkDocs builds: links that leave docs/ become file names, and nav patterns pages.

Pages link to examples, charts and sources of the repository. These are not part of the site, so the
reader gets the file's path in the repository instead. A link to a file that does not exist stays as
it is, and the strict build refuses it.

In the navigation of mkdocs.yml, `decisions/*.md` stands for all pages of that folder that no other
entry names: each new decision would else change the same lines of that file.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from pathlib import Path, PurePosixPath
from typing import Any, Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

_LINK: Final = re.compile(r"\[(?P<text>[^\]]*)\]\((?P<target>\.\./[^)#\s]*)(?:#[^)\s]*)?\)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """MkDocs calls this once it has read mkdocs.yml."""
    docs = Path(config.docs_dir)
    named = {*_pages(config.nav)}
    config.nav = _expanded(config.nav, docs, named)
    return config


def _pages(nav: object) -> Iterator[str]:
    """The pages and patterns that a part of the navigation names."""
    if isinstance(nav, str):
        yield nav
    elif isinstance(nav, dict):
        yield from (page for part in nav.values() for page in _pages(part))
    elif isinstance(nav, list):
        yield from (page for part in nav for page in _pages(part))


# Any: the navigation is a tree of lists, mappings and texts.
def _expanded(nav: Any, docs: Path, named: AbstractSet[str]) -> Any:
    """The same part, with pages in the place of patterns."""
    if isinstance(nav, dict):
        return {title: _expanded(part, docs, named) for title, part in nav.items()}
    if not isinstance(nav, list):
        return nav
    parts: list[Any] = []
    for part in nav:
        if isinstance(part, str) and "*" in part:
            found = sorted(path.relative_to(docs).as_posix() for path in docs.glob(part))
            parts += [page for page in found if page not in named]
        else:
            parts.append(_expanded(part, docs, named))
    return parts


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """MkDocs calls this with the source of each page."""
    root = os.path.dirname(config.config_file_path)  # noqa: PTH120 - MkDocs has it as text
    folder = PurePosixPath("docs", page.file.src_uri).parent

    def named(link: re.Match[str]) -> str:
        path = os.path.normpath(folder / link["target"])
        is_in_site = path.startswith("docs" + os.sep)
        if is_in_site or not os.path.exists(os.path.join(root, path)):  # noqa: PTH110, PTH118
            return link[0]
        return f"{link['text']} (`{path}`)"

    return _LINK.sub(named, markdown)
