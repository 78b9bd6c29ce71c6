"""Documents in blocks: the parts make up the document, and what is copied is not translated."""

import html
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keraszoo.text.blocks import Block, blocks_of

HTML = """<!doctype html>
<html><head><title>My page</title><style>p {a: b}</style></head>
<body class="x"><h1>Hello <b>world</b></h1>
<p>This is a long
   paragraph with <a href="u">a
   link</a>.</p><pre>a < b
</pre><ul><li>One<li>Two</ul> <code>x</code> is y</body></html>
"""
TEXT = "Title\n\n  1. First.  \r\n  2) Second\r\n\t- Third\n> > quoted\n\n\n(a) last\x0c\u2028end"


def translated(text, markup, wrapped=False):
    return [part.inline.text for part in blocks_of(text, markup, wrapped=wrapped) if isinstance(part, Block)]


def rendered(text, markup, wrapped=False):
    return "".join(
        part.render() if isinstance(part, Block) else part for part in blocks_of(text, markup, (), wrapped)
    )


@pytest.mark.parametrize(
    ("text", "markup", "expected"),
    [
        (
            HTML,
            "html",
            ["My page", "Hello world", "This is a long paragraph with a link.", "One", "Two", "\ufffc is y"],
        ),
        (TEXT, "text", ["Title", "First.", "Second", "Third", "quoted", "last", "end"]),
        ("", "text", []),
    ],
)
def test_the_parts_make_up_the_document_and_only_text_is_translated(text, markup, expected):
    assert rendered(text, markup) == text
    assert translated(text, markup) == expected


def test_wrapped_text_is_one_block_and_has_as_many_lines_again():
    text = "  This is a text\n  of three lines\n  here.\n\n- An item\n  goes on.\n"
    assert translated(text, "text", wrapped=True) == [
        "This is a text of three lines here.",
        "An item goes on.",
    ]
    assert translated(text, "text") == ["This is a text", "of three lines", "here.", "An item", "goes on."]
    assert rendered(text, "text", wrapped=True) == text


def test_rules_and_underlined_headings_end_paragraphs():
    text = "A title\n-----\nOne\ntwo.\n* * *\n> #\n> three\n"
    assert rendered(text, "text", wrapped=True) == text
    assert translated(text, "text", wrapped=True) == ["A title", "One two.", "# three"]


def test_a_line_does_not_begin_with_what_would_be_a_mark():
    (block,) = (part for part in blocks_of("a - b\nc d", "markdown") if isinstance(part, Block))
    assert block._replace(inline=block.inline.__class__("one - two")).render() == "one -\ntwo"


PIECES = [
    *("a", "B c.", " ", "\n", "\n\n", "\t", "- ", "1. ", "> ", "# ", "*", "`", "```", "<b>", "</b>", "<p>"),
    *("</p>", "|", "\\", "{x}", "\r\n", "\u2028", "<!--", "-->", "<pre>", "</pre>", "    ", "---", "[r]: x"),
    *("**", "_", "[", "](u)", "]", "<i>", "</i>", "<br>", "\\*", "&amp;", "%s", "é", "$1", "http://a.org/b"),
    *("===", "* * *", "-|-", "<code>", "</code>", "~~"),
]


def without_blanks(text):
    """A text as a reader of Markdown sees it; blanks at the ends of tags may move or come in."""
    return re.sub(r"\\(?=[!-/:-@\[-`{-~])", "", re.sub(r"\s", "", html.unescape(text)))


@settings(max_examples=800)
@given(
    st.lists(st.sampled_from(PIECES), max_size=14).map("".join),
    st.sampled_from(["text", "html", "markdown"]),
    st.booleans(),
)
def test_nothing_of_any_document_is_lost(text, markup, wrapped):
    if markup == "text" and not wrapped:
        assert rendered(text, markup) == text
    parts = blocks_of(text, markup, wrapped=wrapped)
    assert "".join(part if isinstance(part, str) else part.raw for part in parts) == text
    assert without_blanks(rendered(text, markup, wrapped)) == without_blanks(text)


@given(st.text(st.characters(), max_size=60))
def test_any_text_is_its_lines(text):
    assert rendered(text, "text") == text
