"""Changes pages while MkDocs builds the site: links that leave docs/ become the names of files.

Pages link to examples, charts and sources of the repository. These are not part of the site, so the
reader gets the file's path in the repository instead. A link to a file that does not exist stays as
it is, and the strict build refuses it.
"""

from __future__ import annotations

import os.path
import re
from pathlib import PurePosixPath
from typing import Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

_LINK: Final = re.compile(r"\[(?P<text>[^\]]*)\]\((?P<target>\.\./[^)#\s]*)(?:#[^)\s]*)?\)")


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
