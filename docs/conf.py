"""Settings of the documentation site, which ``make docs`` builds; nothing is downloaded."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
ROOT = DOCS.parent
sys.path[:0] = [str(DOCS / "site"), str(ROOT)]
os.environ.setdefault("MPLBACKEND", "agg")

import generated_pages  # noqa: E402 - its folder is on the path from here on
import names  # noqa: E402 - likewise
import pictures  # noqa: E402 - likewise
import reference_pages  # noqa: E402 - likewise

import sklearn_hashnlp  # noqa: E402 - isort keeps it behind the one above

project = "sklearn-hashnlp"
author = "The sklearn-hashnlp developers"
project_copyright = author
version = release = sklearn_hashnlp.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "mathml",
]
exclude_patterns = ["_build", "site", "images", "**/GALLERY_HEADER.rst"]
default_role = "code"
toc_object_entries_show_parents = "hide"
nitpicky = False

myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "dollarmath"]
html_math_renderer = "mathml"
copybutton_prompt_text = r">>> |\.\.\. ?|\$ "
copybutton_prompt_is_regexp = True

autosummary_generate = False  # docs/site/reference_pages.py writes the pages
autodoc_typehints = "none"  # numpydoc's sections have the types
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
python_maximum_signature_line_length = 80

html_context = {"default_mode": "auto"}
html_theme = "pydata_sphinx_theme"
html_title = project
html_static_path = ["site/static"]
html_css_files = ["site.css", "pictures.css"]
html_js_files = ["pictures.js"]
html_sidebars = {"index": [], "benchmarks": []}
html_search_scorer = str(DOCS / "site" / "static" / "search_scorer.js")
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": f"{project} {version}"},
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}

sphinx_gallery_conf = {
    "examples_dirs": str(ROOT / "examples"),
    "gallery_dirs": "gallery",
    # 07 needs dask or Ray: shown, not run.
    "filename_pattern": r"/(?!07_)\d\d_\w+/\d{4}_",
    "image_scrapers": ("matplotlib",),
    "capture_repr": ("_repr_html_",),  # of a last line that is no statement; text is printed
    "within_subsection_order": "FileNameSortKey",
    "backreferences_dir": "api/examples",
    "doc_module": ("sklearn_hashnlp",),
    "inspect_global_variables": False,
    "download_all_examples": True,
    "remove_config_comments": True,
    "reset_modules": ("matplotlib", "pictures.reset_plots"),
    "write_computation_times": False,
    "show_memory": False,
    "matplotlib_animations": False,
}


def setup(app: Any) -> None:
    """Write the pages made from the package and the project's files, and point links at them."""
    generated_pages.forget_other_examples(
        DOCS / "gallery", quick=os.environ.get("HASHNLP_QUICK") == "1"
    )
    generated_pages.write(DOCS)
    app.connect("source-read", generated_pages.point_links)
    # The priority is after that of numpydoc.
    app.connect("autodoc-process-docstring", reference_pages.arrange_docstring, priority=900)
    app.connect("html-page-context", reference_pages.point_back)
    app.connect("missing-reference", names.link_elsewhere)
    app.connect("html-page-context", generated_pages.describe)
    app.connect("html-page-context", generated_pages.fold_signatures)
    app.connect("html-page-context", generated_pages.fit_to_small_screens)
    app.connect("html-page-context", pictures.show)
    app.connect("build-finished", generated_pages.refuse_remote_files)
