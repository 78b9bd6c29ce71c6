"""The equations of docstrings, which are plain text, as MathML."""

import html
import re

from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml

GREEK = "alpha|beta|gamma|delta|epsilon|lambda|mu|phi|sigma|tau|theta|omega"
FUNCTIONS = "exp|log|tanh|sin|cos|max|min|sum"
NOTE = re.compile(
    r"[`\"]|^\((?:eq|section|appendix|table|\d|[A-Z][a-z]+ |[A-Z][a-z]+,)|^[a-z][a-z_]{2,}$|\d{4}\)$"
)
RULES = [
    (r"sqrt\(([^()]*)\)", r"\\sqrt{\1}"),
    (r"(\w)->", r"\\overrightarrow{\1}{}"),
    (r"(\w)<-", r"\\overleftarrow{\1}{}"),
    (r"(\w)~", r"\\tilde{\1}{}"),
    (r"<=", r"\\le "),
    (r">=", r"\\ge "),
    (r"\.\.\.", r"\\ldots "),
    (r" \* ", r" \\ast "),
    (r" in (?=[A-Z])", r" \\in "),
    (r"\^\(([^()]*)\)", r"^{(\1)}"),
    (r"\^(-[\d.]+)", r"^{\1}"),
    (rf"(?<![A-Za-z\\])({GREEK}|{FUNCTIONS})(?![A-Za-z])(?!_wave)", r"\\\1 "),
    (r"(?<![A-Za-z\\])([A-Za-z]{2,})_([a-z]{3,})", "\\\\text{\\1\u00a0\\2}"),
    (r"(?<!\\)([_^])([a-z]{3,})(?![A-Za-z])", r"\1{\\mathrm{\2}}"),
    (r"(?<!\\)([_^])([A-Za-z0-9]{2,})", r"\1{\2}"),
    (r"(?<![A-Za-z\\{\u00a0])([A-Za-z][a-z]+)(?= ?[(\[_^])", r"\\mathrm{\1}"),
    (r"(?<![A-Za-z\\{\u00a0])((?:[a-z]{2,},? ?)+)", r"\\text{ \1 }"),
    (r"(?<![A-Za-z\\{\u00a0])([A-Z][A-Za-z]+)", r"\\mathrm{\1}"),
]


def to_tex(text):
    """An equation such as `e_ij = v_a^T tanh(W_a s_{i-1})` in the language of TeX."""
    for pattern, replacement in RULES:
        text = re.sub(pattern, replacement, text)
    return text


def table(lines):
    """An indented block of a docstring as an HTML table of equations and notes; None if it holds no equations."""
    if not any(" = " in line for line in lines) or any(
        re.search(r"[─▶#]|\w\.\w+\(|: \{", line) for line in lines
    ):
        return None
    try:
        rows = list(_rows(lines))
    except MathError:  # an expression that is no equation
        return None
    return '<table class="equations">' + "".join(f"<tr>{row}</tr>" for row in rows) + "</table>"


def _rows(lines):
    least = min(len(line) - len(line.lstrip()) for line in lines)
    labelled = False
    for line in lines:
        cells, more = re.split(r" {2,}", line.strip()), len(line) - len(line.lstrip()) - least
        labelled = labelled if more else bool(NOTE.search(cells[0]))
        first = "<td></td><td>" if more and labelled else f'<td style="padding-left: {more}ch">'
        yield f"{first}{'</td><td>'.join(map(_cell, cells))}</td>"


def _cell(cell):
    if NOTE.search(cell) or not cell:
        return re.sub(r"`([^`]*)`", r"<code>\1</code>", html.escape(cell, quote=False))
    return tex2mathml(to_tex(cell))
