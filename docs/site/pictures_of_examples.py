"""Examples save their plots as PNG files in the folder they run in; the gallery moves them to its pages."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any


def scrape(_block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Return the figures of a block in reStructuredText, as sphinx-gallery asks for."""
    from sphinx_gallery.scrapers import figure_rst

    source, paths = Path(block_vars["src_file"]), []
    for saved in sorted(source.parent.glob("*.png")):
        path = next(block_vars["image_path_iterator"])
        shutil.move(saved, path)
        paths.append(path)
    return str(figure_rst(paths, gallery_conf["src_dir"]))
