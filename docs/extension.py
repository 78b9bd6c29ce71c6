"""Sphinx extension of this site: reused Markdown files, docstrings in Markdown, equations as MathML."""

import inspect
import itertools
import os.path
import re
from pathlib import Path

import jupytext
import keras
import myst_nb.core.render
from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from equations import table

ROOT = Path(__file__).parent.parent
# Files of the repository that are pages of the site. Files in docs/ keep their names.
PAGES = {
    "README.md": "/index.md",
    "RESULTS.md": "/results.md",
    "CHANGELOG.md": "/changelog.md",
    "CONTRIBUTING.md": "/contributing.md",
    "examples/README.md": "/examples.md",
    "examples/browser/README.md": "/browser.md",
    "pretrained/README.md": "/models/index.md",
} | {f"pretrained/{path.parent.name}/README.md": f"/models/{path.parent.name}.md"
     for path in ROOT.glob("pretrained/*/README.md")}  # fmt: skip
LINK = re.compile(r"(!?)\[((?:[^][]|\[[^]]*\])*)\]\(([^)\s]+)\)")
FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)


def rewrite(text, folder):
    """Points the links of a Markdown file in `folder` (relative to the repository) to pages of the site."""

    def target(match):
        image, label, link = match.groups()
        path, _, anchor = link.partition("#")
        if not path or re.match(r"[a-z]+:|/", path):
            return match[0]
        path = os.path.normpath(os.path.join(folder, path))
        page = PAGES.get(path) or (f"/{path[5:]}" if path.startswith("docs/") else None)
        if page:
            return f"{image}[{label}]({page}{'#' + anchor if anchor else ''})"
        if path.startswith("keraszoo/") and label.startswith("`"):
            return f"{{py:obj}}`.{label.strip('`')}`"
        if (ROOT / path).is_file():
            return f"{{download}}`{label.strip('`')} </../{path}>`"
        return label

    return LINK.sub(target, text)


def source_read(app, docname, source):
    """Rewrites the links of a page, except of scripts."""
    if app.env.doc2path(docname).suffix == ".md":
        source[0] = rewrite(source[0], f"docs/{os.path.dirname(docname)}")


def include_read(app, relative_path, parent_docname, content):
    """Removes the front matter of an included file and rewrites its links."""
    folder = os.path.normpath(os.path.join("docs", relative_path.parent))
    content[0] = rewrite(FRONT_MATTER.sub("", content[0]), folder)


LABEL = re.compile(r"(Shapes|Departures?(?: from \w+)?|Reference|Args|Call arguments|Returns): (?=\S)")
SECTION = re.compile(r"(Args|Call arguments|Returns|Yields|Raises|Attributes|Examples?):$")
CODE = re.compile(r"(?<![:`\\])`([^`\n]+)`(?![`_])")
SPECIAL = re.compile(r"\||(?<=\S)\*|\*(?=\S)")  # what reStructuredText reads as markup, unlike a bullet
NAME = re.compile(r"(?:\w+\.)*[A-Z]\w*[a-z]\w*")


def markdown_to_rest(app, what, name, obj, options, lines):
    """Converts a docstring: indented paragraphs to equations or literal blocks, code in backticks to literals.

    Names of classes become references. Sections such as Args are left to napoleon.
    """
    text = []
    indented = equations = in_section = doctest = False
    for i, line in enumerate(lines):
        if line and not line.startswith(" "):
            indented, in_section = False, bool(SECTION.match(line))
        elif line.startswith("    ") and not (i and lines[i - 1]) and not in_section and not indented:
            block = itertools.takewhile(lambda line: not line or line.startswith("    "), lines[i:])
            equations, indented = table([line for line in block if line]), True
            text += [".. raw:: html", "", f"    {equations}"] if equations else [".. code-block:: text"]
            text.append("")
        doctest = bool(line) and (doctest or line.lstrip().startswith(">>>"))
        if not (indented and equations):
            text.append(line if indented or doctest else _marked(line))
    lines[:] = text


def _marked(line):
    text = re.sub(r"(?<=: )([A-Z])\.$", r"`\1`.", line)  # a letter alone would be a list
    parts = CODE.split(text)  # text, code, text, ...
    parts[0::2] = [SPECIAL.sub(r"\\\g<0>", part) for part in parts[0::2]]
    parts[2::2] = [re.sub(r"^(?=\w)", r"\\ ", part) for part in parts[2::2]]  # a plural after a name
    parts[1::2] = [
        f":py:obj:`.{code}`" if NAME.fullmatch(code) else f"``{code.strip()}``" for code in parts[1::2]
    ]
    return LABEL.sub(r"**\1:** ", "".join(parts), count=1) if LABEL.match(line) else "".join(parts)


def signature(app, what, name, obj, options, arguments, returns):
    """Returns the arguments of a layer or model from its `__init__`; Keras hides them behind `__new__`."""
    if what != "class" or "__init__" not in vars(obj) and not issubclass(obj, keras.layers.Layer):
        return None
    first, *others = inspect.signature(obj.__init__).parameters.values()
    return str(inspect.Signature([p for p in others if p.kind is not p.VAR_KEYWORD])), returns


def mathml(node, as_block=False):
    """Returns the MathML of an equation, with a space after the name of a function."""
    return tex2mathml(re.sub(r"(\\(?:exp|log)) (?=[a-z\\])", r"\1\\,", node.astext()), as_block)


def visit_math(translator, node):
    """Writes an equation in the text."""
    translator.body.append(mathml(node))
    raise_skip()


def visit_math_block(translator, node):
    """Writes an equation of its own."""
    translator.body.append(f'<div class="math">{mathml(node, as_block=True)}</div>\n')
    raise_skip()


def raise_skip():
    """Tells docutils that the children of a node are written."""
    from docutils.nodes import SkipNode

    raise SkipNode


def highlight(app, doctree):
    """Shows cells that begin with `%%bash` as shell code, without that line, and indented imports as Python."""
    for block in doctree.findall(nodes.literal_block):
        magic, _, commands = block.astext().partition("\n")
        if re.match(r"(from|import) \w", magic) and block.get("language", "none") == "none":
            block["language"] = "python"
        if magic == "%%bash":
            block.rawsource, block["language"] = commands, "bash"
            block.children = [nodes.Text(commands)]


def join_streams(outputs):
    """Joins the pieces of a cell's output as they are.

    Jupyter sends at most 100 bytes at a time, and MyST-NB ends each piece with a new line.
    """
    joined = []
    for output in outputs:
        if joined and output["output_type"] == "stream" and output.get("name") == joined[-1].get("name"):
            joined[-1]["text"] += output["text"]
        else:
            joined.append(output)
    return joined


def write_notebooks(app, error):
    """Writes the tutorials as notebooks without outputs, for download."""
    folder = Path(app.outdir, "notebooks")
    folder.mkdir(parents=True, exist_ok=True)
    for script in Path(app.srcdir).glob("tutorials/*.py"):
        jupytext.write(jupytext.read(script, fmt="py:percent"), folder / f"{script.stem}.ipynb")


def setup(app):
    """Connects the functions above."""
    myst_nb.core.render.coalesce_streams = join_streams
    app.connect("source-read", source_read)
    app.connect("include-read", include_read)
    app.connect("doctree-read", highlight)
    app.connect("autodoc-process-docstring", markdown_to_rest, priority=100)
    app.connect("build-finished", write_notebooks)
    app.connect("autodoc-process-signature", signature)
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math_block, None))
    return {"parallel_read_safe": True}
