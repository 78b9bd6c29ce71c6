"""Splits HTML and Markdown into markup and text."""

import html
import re
from typing import NamedTuple

_NAMES = "[A-Za-z][^\\s<>/\"'=]{0,80}"
_HTML = (
    r"(?P<long><!--|<!\[CDATA\[|<\?|<(?P<element>script|style|textarea)\b[^<>]*>)|(?P<type><![A-Za-z][^<>]*>)|"
    rf"(?P<tag><(?P<slash>/?)(?P<name>{_NAMES})(?P<attributes>(?:[^'\"<>]|\"[^\"<]*\"|'[^'<]*')*)>)"
)
_DESTINATION = r"\((?:[^()\s\\]|\\.|\([^()\s]*\))*(?:\s+(?:\"[^\"]*\"|'[^']*'))?\s*\)"
HTML_TOKEN = re.compile(_HTML, re.DOTALL | re.IGNORECASE)
MARKDOWN_TOKEN = re.compile(
    r"(?P<escape>\\[!-/:-@\[-`{-~])|(?P<code>(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`))|"
    r"(?P<math>(?<![0-9a-z$])(?:\$\$(?:\\.|[^\\$])+\$\$|\$(?!\s)(?:\\.|[^\\$])+(?<!\s)\$)(?![0-9a-z$]))|"
    rf"(?P<link><(?:[a-z][a-z0-9+.-]+:|[^\s<>@]+@)[^\s<>]*>)|(?P<note>\[\^[^\]\s]{{1,80}}\])|"
    rf"(?P<open>!?\[)|(?P<close>\](?:{_DESTINATION}|\[[^\[\]]*\])?)|(?P<delimiter>\*+|_+|~~)|{_HTML}",
    re.DOTALL | re.IGNORECASE,
)
# What ends a part that begins with `long`; a script ends with its tag.
CLOSERS = {"<!--": "-->", "<![CDATA[": r"\]\]>", "<?": r"\?>"}
ENTITY = re.compile(r"&(?:#\d{1,7}|#x[0-9a-f]{1,6}|[a-z][a-z0-9]{1,31});", re.IGNORECASE)
VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())
OPAQUE = frozenset("code kbd samp var pre math svg template object video audio canvas iframe".split())
BLOCKS = frozenset(
    "address article aside base blockquote body caption center col colgroup dd details dialog dir div dl dt "
    "fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html "
    "iframe legend li link main menu meta nav noframes noscript ol optgroup option p pre script search "
    "section select style summary table tbody td template textarea tfoot th thead title tr ul".split()
)
_UNTRANSLATED = re.compile(r"\stranslate\s*=\s*[\"']?no\b", re.IGNORECASE)


class Token(NamedTuple):
    """A piece of markup or of text.

    Attributes:
        kind: `"text"`; `"object"`, opaque, with a place among the words; `"mark"`, without a pair; `"open"`,
            `"close"` or `"both"`.
        raw: str, as it is in the text; all of them make up the text.
        text: what a reader sees.
        key: what opens is closed by the next one with the same key.
        opaque: of `"open"`: what is inside is not translated.
        literal: of brackets: they are text, unless there is a link.
    """

    kind: str
    raw: str
    text: str = ""
    key: str = ""
    opaque: bool = False
    literal: bool = False

    @property
    def block(self):
        """Whether it separates blocks of HTML."""
        return self.key in BLOCKS


def html_tokens(text):
    """Splits HTML, a str, into a list of `Token`."""
    return _tokens(text, HTML_TOKEN, _html_token, html.unescape)


def markdown_tokens(text):
    """Splits Markdown without blocks, a str, into a list of `Token`."""
    return _tokens(text, MARKDOWN_TOKEN, _markdown_token, _with_entities)


def _tokens(text, expression, read, unescape):
    def plain(raw):
        return Token("text", raw, unescape(raw))

    tokens, end, missing = [], 0, set()
    while match := expression.search(text, end):
        tokens.append(plain(text[end : match.start()]))
        end = match.end()
        if not match["long"]:
            tokens.append(read(match))
            continue
        closer = CLOSERS.get(match[0].upper()) or rf"</{match['element'].lower()}\s*>"
        found = None if closer in missing else re.compile(closer, re.IGNORECASE).search(text, end)
        if found:
            end = found.end()
        else:  # and it is not looked for again
            missing.add(closer)
        tokens.append(Token("mark", text[match.start() : end], key=(match["element"] or "").lower()))
    return [token for token in (*tokens, plain(text[end:])) if token.raw]


def _with_entities(raw):
    """Text of Markdown, where entities end with `;`; in HTML some do not."""
    return ENTITY.sub(lambda entity: html.unescape(entity[0]), raw)


def _html_token(match):
    raw = match[0]
    if match["type"]:
        return Token("mark", raw)
    name = match["name"].lower()
    if match["slash"]:
        return Token("close", raw, key=name)
    if name in VOID or raw.endswith("/>"):
        return Token("mark", raw, key=name)
    opaque = name in OPAQUE or bool(_UNTRANSLATED.search(match["attributes"]))
    return Token("open", raw, key=name, opaque=opaque)


def _markdown_token(match):
    raw = match[0]
    if match["escape"]:
        return Token("text", raw, raw[1])
    if match["code"] or match["math"] or match["link"]:
        return Token("object", raw)
    if match["note"]:
        return Token("mark", raw)
    if match["open"] or match["close"]:
        kind = "open" if match["open"] else "close"
        return Token(kind, raw, raw, key="[", literal=raw in ("[", "![", "]"))
    return _delimiter(match) if match["delimiter"] else _html_token(match)


def _delimiter(match):
    """Emphasis opens before and closes after something that is no blank; `_` only at the ends of words."""
    raw, text = match[0], match.string
    before, after = (
        text[max(0, match.start() - 1) : match.start()] or " ",
        text[match.end() : match.end() + 1] or " ",
    )
    opens = not after.isspace() and (after.isalnum() or not before.isalnum())
    closes = not before.isspace() and (before.isalnum() or not after.isalnum())
    if raw[0] == "_":
        opens, closes = opens and not before.isalnum(), closes and not after.isalnum()
    kind = {(True, True): "both", (True, False): "open", (False, True): "close"}.get((opens, closes), "text")
    return Token(kind, raw, raw, key=raw)
