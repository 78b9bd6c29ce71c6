"""Finds the text of Markdown between the marks of its blocks."""

import functools
import io
import itertools
import re

FOOTNOTE = re.compile(r"\[\^[^\]\s]{1,80}\]:[ \t]*")
HARD_END = re.compile(r"(?<!\\)(?:\\\\)*(\\|<br ?/?>)$", re.IGNORECASE)  # so do two blanks
NESTED = 100  # quotes and lists inside of each other; what is deeper is not translated


def markdown_texts(text):
    """Where the text of a document is.

    Args:
        text: str.

    Returns:
        List of (markup, spans), in order: `"markdown"` and the (start, end) of each line of a paragraph,
        heading or cell, without the marks of quotes and lists; or `"html"` and one (start, end).
        Paragraphs end at hard line ends.

    Example:

    >>> text = "> A dog and\\n> a cat.\\n\\n| Two | birds |\\n|---|---|\\n"
    >>> [[text[start:end] for start, end in spans] for _, spans in markdown_texts(text)]
    [['A dog and', 'a cat.'], ['Two'], ['birds']]
    """
    lines = io.StringIO(text.replace("\0", "\ufffd"), newline="").readlines()
    starts = list(itertools.accumulate(map(len, lines), initial=0))
    first = _front_matter(lines)
    lines, starts = lines[first:], starts[first:]
    found, row, column = [], None, 0
    tokens = _parser().parse("".join(lines))
    for before, token in itertools.pairwise([None, *tokens]):
        if token.type == "html_block":
            begin, end = (starts[number] for number in token.map)
            if token.content.split() == text[begin:end].split():  # no marks of quotes and lists in between
                found.append(("html", [(begin, end)]))
        elif token.type == "inline" and token.map:
            if before.type in ("th_open", "td_open"):
                column = column if row == token.map else 0
                row, cell = token.map, token.content.replace("|", r"\|")
                if cell and (at := lines[row[0]].find(cell, column)) >= 0:
                    column = at + len(cell)
                    found.append(("markdown", [(starts[row[0]] + at, starts[row[0]] + column)]))
            else:
                found += [("markdown", spans) for spans in _paragraphs(token, lines, starts)]
    return found


def _paragraphs(token, lines, starts):
    """Lists of the spans of lines, one up to each hard line end."""
    found = [[]]
    pieces = [piece.strip() for piece in token.content.split("\n") if piece.strip()]
    for number in range(*token.map):
        if pieces and (at := lines[number].rfind(pieces[0])) >= 0:
            piece = pieces.pop(0)
            hard = HARD_END.search(piece)
            start, length = starts[number] + at, len(piece[: hard.start(1)].rstrip() if hard else piece)
            if length:
                found[-1].append((start, start + length))
            if hard or lines[number].startswith("  ", at + len(piece)):
                found.append([])
    return filter(None, found)


def _front_matter(lines):
    """The number of lines of YAML, with `---` above and below, at the start of a document."""
    marks = [line.rstrip() in ("---", "...") for line in lines]
    if marks[:2] == [True, False] and lines[0].rstrip() == "---" and lines[1].strip() and any(marks[1:]):
        return marks.index(True, 1) + 1
    return 0


@functools.cache
def _parser():
    import markdown_it

    options = {"tasklists": True, "alerts": True, "maxNesting": NESTED}
    parser = markdown_it.MarkdownIt("commonmark", options).enable("table").disable(["inline", "text_join"])
    ends = {"alt": ["paragraph", "reference", "blockquote", "list"]}
    parser.block.ruler.before("reference", "footnote", _footnote, ends)
    return parser


def _footnote(state, line, end, silent):
    """A rule of the parser: `[^1]: text`, with what is indented by four columns below it, is a block."""
    at = state.bMarks[line] + state.tShift[line]
    label = FOOTNOTE.match(state.src, at, state.eMarks[line])
    if not label or state.is_code_block(line):
        return False
    if not silent:
        old = state.bMarks[line], state.tShift[line], state.sCount[line], state.blkIndent, state.parentType
        state.blkIndent += 4
        state.bMarks[line], state.tShift[line], state.sCount[line] = label.end(), 0, state.blkIndent
        state.parentType = "footnote"
        state.push("footnote_open", "div", 1)
        state.md.block.tokenize(state, line, end)
        state.push("footnote_close", "div", -1)
        state.bMarks[line], state.tShift[line], state.sCount[line], state.blkIndent, state.parentType = old
    return True
