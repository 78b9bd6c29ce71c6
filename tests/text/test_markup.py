"""Markup taken off and put back: what is parsed and rendered is what was there."""

import pytest

from keraszoo.errors import KerasZooError
from keraszoo.text.inline import Inline, Region, Substitution, Tag, nested
from keraszoo.text.markup import check_markup, parse


def parts(text, markup, keep=()):
    """What a reader sees, the regions, and the tags with the words in them."""
    found = parse(text, markup, keep)
    spans = [(tag.before, found.text[tag.start : tag.end], tag.after) for tag in found.tags]
    return found.text, [region.output for region in found.regions], spans


def test_tags_of_html_and_their_attributes_are_no_text():
    text = 'See <a href="x?a=1&amp;b=2" title="a > b">the <i>big</i> house</a>.'
    assert parts(text, "html") == (
        "See the big house.",
        [],
        [('<a href="x?a=1&amp;b=2" title="a > b">', "the big house", "</a>"), ("<i>", "big", "</i>")],
    )
    assert parse(text, "html").tags[1].parent == 0


def test_elements_that_are_code_are_kept_and_scripts_and_comments_are_marks():
    text = 'Call <code>f(<b>x</b>)</code> and <span translate="no">Big &amp; Co</span>.'
    visible, regions, tags = parts(text, "html")
    assert visible == "Call \ufffc and \ufffc." and not tags
    assert regions == ["<code>f(<b>x</b>)</code>", '<span translate="no">Big &amp; Co</span>']
    text = 'a<script>if (a<b) "</b>"</script> <!-- <b> --> b<br/>c <i class="icon"></i>d'
    visible, regions, tags = parts(text, "html")
    assert visible.split() == ["a", "b", "c", "d"] and not regions
    before = [before.strip() for before, _, _ in tags]
    assert before == ['<script>if (a<b) "</b>"</script>', "<!-- <b> -->", "<br/>", '<i class="icon">']


@pytest.mark.parametrize("text", ["a </b> c", "a <b> c", "a <b><i>c</b> d</i>", "<b>" * 9 + "x" + "</i>" * 9])
def test_tags_without_a_partner_are_marks_that_come_out_as_they_are(text):
    unpaired = [before for before, inside, after in parts(text, "html")[2] if not after]
    assert unpaired and parse(text, "html").render() == text


def test_entities_are_read_and_written_and_what_only_looks_like_a_tag_is_text():
    found = parse("Tom &amp; Jerry &lt;3 caf&eacute; {a}&amp;b", "html")
    assert found.text == "Tom & Jerry <3 café {a}&b"
    assert found.render() == "Tom &amp; Jerry &lt;3 café {a}&amp;b"
    assert parts("1 < 2 and a<3", "html")[::2] == ("1 < 2 and a<3", [])
    assert parse("1 < 2 &amp; 3 > 2", "html").render() == "1 &lt; 2 &amp; 3 > 2"


@pytest.mark.parametrize(
    ("text", "visible", "written"),
    [
        ("AT&T &eacute;", "AT&T é", "AT&T é"),  # not escaped in the text
        ("AT&T &copy 2020 x&lt3", "AT&T © 2020 x<3", "AT&T © 2020 x&lt;3"),  # as browsers read them
        ("AT&T &amp copy;", "AT&T & copy;", "AT&amp;T &amp; copy;"),
    ],
)
def test_ampersands_and_entities_without_a_semicolon(text, visible, written):
    found = parse(text, "html")
    assert (found.text, found.render()) == (visible, written)
    assert parse("&copy 2020", "markdown").text == "&copy 2020"  # CommonMark wants the semicolon


def test_links_emphasis_and_code_of_markdown():
    text = 'A **big** [red *car*](http://x.org/a_(b) "t"), `co*de` and ~~old~~ ![a picture](u.png)[^1].'
    visible, regions, tags = parts(text, "markdown")
    assert visible == "A big red car, \ufffc and old a picture."
    assert regions == ["`co*de`"]
    assert tags == [
        ("**", "big", "**"),
        ("[", "red car", '](http://x.org/a_(b) "t")'),
        ("*", "car", "*"),
        ("~~", "old", "~~"),
        ("![", "a picture", "](u.png)"),
        ("[^1]", "", ""),
    ]


@pytest.mark.parametrize(
    ("text", "regions"),
    [
        ("so $x_i, y$, **$S\\,\\sigma$** and $a\\$b$-like", ["$x_i, y$", "$S\\,\\sigma$", "$a\\$b$"]),
        ("$$\nf(x) = *a*, _b_\n$$", ["$$\nf(x) = *a*, _b_\n$$"]),
        (
            "from $1 to $2, $HOME/$USER, US$5 and 6$, $ 7 $",
            ["$1", "$2", "$HOME", "$USER", "US$5"],
        ),  # placeholders
    ],
)
def test_formulas_of_markdown_are_kept_and_prices_are_none(text, regions):
    found = parse(text, "markdown")
    assert [region.output for region in found.regions] == regions and found.render() == text


@pytest.mark.parametrize(
    "text", ["2 * 3 = 6", "snake_case_name", "[x] or [y]", "a ** b", r"2 \* 3 \[x\]", "5 < 6"]
)
def test_marks_of_markdown_that_mark_nothing(text):
    found = parse(text, "markdown")
    assert not found.tags and found.render() == text


def test_a_region_ends_where_a_tag_begins():
    found = parse("see https://x.org/<b>abc</b>!", "html")
    assert [region.output for region in found.regions] == ["https://x.org/", "abc"]
    assert found.render() == "see https://x.org/<b>abc</b>!"


def test_deep_nesting_is_no_recursion():
    text = "<b>" * 5000 + "x" + "</b>" * 5000
    assert parse(text, "html").render() == text


def test_rendering_writes_tags_in_the_order_of_the_tree_and_new_line_ends():
    tags = [Tag(0, 1, "<b>", "</b>"), Tag(0, 1, "<i>", "</i>", 0), Tag(1, 1, "<br>", "", 0)]
    assert Inline("ab", [], [*tags, Tag(1, 1, "<hr>", "")]).render() == "<b><i>a</i><br></b><hr>b"
    empty = [Tag(0, 0, "<b>", "</b>"), Tag(0, 0, "<i>", "</i>", 0), Tag(0, 0, "<br>", "", 1)]
    assert Inline("a", [], empty).render() == "<b><i><br></i></b>a"
    # tags that moved into each other
    tags = [Tag(0, 1, "<b>", "</b>"), Tag(2, 3, "<i>", "</i>"), Tag(2, 2, "<br>", "", 1)]
    assert Inline("abc", [], nested([(1, 2), (0, 3), (0, 0)], tags)).render() == "<i><br>a<b>b</b>c</i>"
    assert Inline("abc", [], nested([(0, 3), (0, 3), (3, 3)], tags)).render() == "<b><i>abc<br></i></b>"
    # line ends take the place of blanks
    assert Inline("a b {c d}", [Region(4, 9, "{c d}")]).render([(1, "\n> ")]) == "a\n> b {c d}"


def test_positions_after_a_substitution():
    changed = Substitution("ab{x}cd", [(2, 5, "Tom and Jerry")])
    for position, character in enumerate("ab"):
        assert changed.text[changed.moved(position)] == character
    assert changed.text[changed.moved(2) : changed.moved(5)] == "Tom and Jerry"
    assert changed.text[changed.moved(5) :] == "cd" and changed.moved(7) == len(changed.text)


def test_unknown_markup_is_one_line():
    with pytest.raises(KerasZooError, match="markup: expected one of text, html, markdown, got 'xml'"):
        check_markup("xml")


def test_a_mark_that_moves_out_of_its_parent_is_put_at_its_edge():
    tags = [Tag(0, 2, "<b>", "</b>"), Tag(1, 1, "<br>", "", parent=0)]
    for place, inside in ((0, 4), (5, 5), (9, 7)):
        bold, mark = nested([(4, 7), (place, place)], tags)
        assert bold == Tag(4, 7, "<b>", "</b>") and mark == Tag(inside, inside, "<br>", "", parent=0)
