"""Sphinx configuration; ``make docs`` builds with warnings as errors and without a network."""

import os

# One thread in the gallery: the pictures and timings then do not depend on the machine.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import negcorr

project = "negcorr"
author = "the negcorr developers"
copyright = "the negcorr developers"
version = release = negcorr.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "myst_parser",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "auto_examples/*.ipynb", "auto_examples/*.py"]
default_role = "code"

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc says the types in words
autodoc_member_order = "bysource"
numpydoc_show_class_members = False  # the class template lists them
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "image_scrapers": ("matplotlib",),
    "matplotlib_animations": False,
    "within_subsection_order": "ExampleTitleSortKey",
    "capture_repr": (),
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "negcorr"
html_static_path = ["_static"]
html_css_files = ["negcorr.css"]
html_sidebars = {
    name: [] for name in ("how_to_choose", "reproduction", "contributing", "security", "changelog")
}
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navigation_with_keys": False,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
