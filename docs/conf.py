"""Settings of the documentation site: `make docs` builds it into build/docs."""

import hashlib
import os
import sys
from pathlib import Path

DOCS = Path(__file__).parent
sys.path[:0] = [str(DOCS), str(DOCS.parent)]
os.environ["PYTHONPATH"] = str(DOCS.parent)  # for the notebooks and the commands in them
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
os.environ.update(KERAS_BACKEND="tensorflow", TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="-1")

from keraszoo import __version__  # noqa: E402

project = "keraszoo"
author = "the authors of keraszoo"
copyright = f"{author}, Apache-2.0"
version = release = __version__

extensions = [
    "myst_nb", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.napoleon", "sphinx_copybutton", "extension",
]  # fmt: skip
templates_path = ["_templates"]  # of the page of a layer
exclude_patterns = ["conf.py", "equations.py", "extension.py", "_templates"]

# Markdown. Headings get the anchors that they have in the repository's own links.
myst_enable_extensions = ["attrs_block", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
# The pages that are included here have their own first heading, and cards start with the second level.
suppress_warnings = ["myst.header"]

# Tutorials are Python scripts with cells. They run once, and again if their cells, the package or an included model changes.
package = (
    path for where in ("keraszoo/**/*.py", "pretrained/*/manifest.json") for path in DOCS.parent.glob(where)
)
package_hash = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(package))).hexdigest()
nb_custom_formats = {".py": ["jupytext.reads", {"fmt": "py:percent"}]}
nb_execution_mode = "cache"
nb_execution_cache_path = str(DOCS.parent / "build" / "notebooks" / package_hash[:16])
nb_execution_in_temp = True
nb_execution_timeout = 600
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_output_stderr = "remove"
nb_merge_streams = True

# Docstrings; extension.py turns their Markdown into reStructuredText.
autodoc_inherit_docstrings = False
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
python_maximum_signature_line_length = 80
napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_custom_sections = [("Call arguments", "params_style"), ("Attributes", "params_style")]
add_module_names = False
toc_object_entries_show_parents = "hide"

# The buttons copy code without prompts and output.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# MathML needs no script and no network.
html_math_renderer = "mathml"
html_theme = "furo"
html_title = f"keraszoo {release}"
html_static_path = ["_static"]
html_css_files = ["keraszoo.css"]
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
