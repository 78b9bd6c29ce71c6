"""Blocks of Markdown: what the parser of CommonMark calls text is translated, all else is copied."""

import re
from pathlib import Path

import markdown_it
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keraszoo.text.blocks import Block, blocks_of
from keraszoo.text.markdown_blocks import markdown_texts

ROOT = Path(__file__).parents[2]
MARKDOWN = """---
title: x
---

# A *big* title

Some text that
runs over lines with [a
link](u). Next.

> quoted text
> goes on

- item one
  goes on here
- [x] item two

    not code

| a | b c |
|---|-----|
| d | **e** |

```py
x = 1
```

    indented code

<!-- comment

text -->
Hard\x20\x20
break\\
end

[ref]: http://x.org "t"
"""


def translated(text):
    return [part.inline.text for part in blocks_of(text, "markdown") if isinstance(part, Block)]


def rendered(text):
    return "".join(part.render() if isinstance(part, Block) else part for part in blocks_of(text, "markdown"))


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_a_document_is_written_as_it_was(line_end):
    text = MARKDOWN.replace("\n", line_end)
    assert rendered(text) == text
    assert translated(text) == [
        "A big title",
        "Some text that runs over lines with a link. Next.",
        *("quoted text goes on", "item one goes on here", "item two", "not code"),
        *("a", "b c", "d", "e", "Hard", "break", "end"),
    ]


CASES = {
    "---\nx: y\n---\nOne\n": "One",  # front matter
    "---\nOne\ntwo.\n\nThree\n": "One two. / Three",  # without an end: a rule
    "---\n\nOne\n\n---\n\nTwo\n": "One / Two",
    "One[^a].\n\n[^a]: Two\n    three.\n\n    Four.\n\n        x\n": "One. / Two three. / Four.",
    "One.\n[^a]: Two.\n[^b]: Three\n- [^c]: Four\n": "One. / Two. / Three / Four",
    "> One\n[^a]:\n    Two\n\n[^b]:\n": "One / Two",
    "- [ ] One\n- [x]\ttwo\n\n[x] three\n": "One / two / [x] three",
    "> [!NOTE]\n> One\n> two.\n": "One two.",
    "One  \n**two  \nthree**\\\nfour\\\n": "One / two / three / four",
    "a | b\n--|--\nc \\| d | `e\\|f` | no cell\n>g\n": "a / b / c | d / \ufffc / g",
    "|| a |\n|--|--|\n| a |\n": "a / a",
    "<div>\n<p>One *two*</p>\n\nThree\n\n</div>\n": "One *two* / Three",
    "- <p>\n  One\n  </p>\n- Two": "Two",  # the marks of a list are not HTML
    "> `a\n> b` <i\n> x>one</i> two\n> three\n": "\ufffc one two three",
    "1. One\n   -\ttwo\n\n\t\t    x\n\n\t\tthree\n": "One / two / three",
    f"{'>' * 5000} a\n\nOne\n\n{'[^a]: ' * 5000}": "One",  # too deep
    "One\\\\\ntwo\\\nthree\\": "One\\ two / three",
    "> One <br>\n> two<BR />\n> <br>\n> three <br>four": "One / two / three four",
}


@pytest.mark.parametrize(("text", "expected"), CASES.items())
def test_what_is_translated(text, expected):
    assert rendered(text) == text
    assert " / ".join(translated(text)) == expected


def assert_all_text_and_nothing_else_is_translated(text):
    """Compares with the parser, which knows neither front matter nor footnotes."""
    parts = [part if isinstance(part, str) else part.raw for part in blocks_of(text, "markdown")]
    assert "".join(parts) == text
    spans = [span for markup, spans in markdown_texts(text) if markup == "markdown" for span in spans]
    parser = markdown_it.MarkdownIt("commonmark", {"alerts": True, "tasklists": True}).enable("table")
    wanted = "".join(token.content for token in parser.parse(text) if token.type == "inline" and token.map)
    found = "".join(text[start:end] for start, end in spans).replace("\0", "\ufffd")
    assert re.sub(r"[\s\\]", "", found) == re.sub(r"[\s\\]", "", wanted)


def test_all_text_of_the_files_here_and_nothing_else_is_translated():
    files = [file for depth in ("", "[!.]*/", "[!.]*/[!.]*/") for file in ROOT.glob(f"{depth}[!.]*.md")]
    assert ROOT / "README.md" in files
    for file in files:
        assert_all_text_and_nothing_else_is_translated("\n" + file.read_text())


PIECES = (
    "a;B c.; ;\n;\n\n;\t;\r\n;\r;\u2028;\x0c;\u00a0;\0;    ;- ;1. ;> ;# ; #;===;---;* * *;*;_;`;```;~~~;|;\\;"
    "\\|;a|b\n-|-\n;<b>;</b>;<div>;</p>;<!--;-->;<pre>;</pre>;[r]: x;[;](u);> [!NOTE]\n;- [x] "
).split(";")


@settings(max_examples=800)
@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
def test_all_text_of_any_document_and_nothing_else_is_translated(text):
    assert_all_text_and_nothing_else_is_translated("\n" + text)
