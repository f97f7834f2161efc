"""Sphinx configuration. The built pages need no network, because equations are MathML and all assets are local."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

from compsil_kit import __version__

project = "compsil-kit"
author = "the compsil-kit developers"
copyright = author
release = version = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc"]
exclude_patterns = ["_build", "generated"]

myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
myst_dmath_double_inline = True

# Airflow is large and installed only in separate environments, so its API is documented with a mock.
autodoc_mock_imports = ["airflow"]
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autosummary_generate = False
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

html_theme = "furo"
html_title = f"compsil-kit {release}"
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["extra.css"]
html_math_renderer = "mathml"
pygments_style = "friendly"


def _inline_math(translator: Any, node: nodes.math) -> None:
    translator.body.append(str(tex2mathml(node.astext())))
    raise nodes.SkipNode


def _block_math(translator: Any, node: nodes.math_block) -> None:
    # The theme wraps every equation in an element with the equation's id.
    number = f'<span class="eqno">({node["number"]})</span>' if node.get("number") else ""
    formula = tex2mathml(node.astext().strip(), as_block=True)
    translator.body.append(f'<div class="math equation">{number}{formula}</div>\n')
    raise nodes.SkipNode


def setup(app: Any) -> None:
    """Render equations as MathML with docutils, which browsers display without scripts."""
    app.add_html_math_renderer("mathml", (_inline_math, None), (_block_math, None))
