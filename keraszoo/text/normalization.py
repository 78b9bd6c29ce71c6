"""What a vocabulary of subwords reads a text as: rules of normalisation, and forms of characters it lacks."""

import functools
import itertools
import unicodedata

from keraszoo.text.characters import INVISIBLE, JOINERS, inside, members

RULES = ("nfc", "nmt_nfkc")  # what a vocabulary may be trained with
# Characters that people and programs type for one another, the plain one first.
ALIKE = (
    "'\u2019\u2018\u02bc\u00b4`\u2032\u201b\u02bb\u201a\u2039\u203a",
    '"\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033',
    "-\u2013\u2014\u2010\u2011\u2012\u2015\u2212",
)
SIGNS = "".join(ALIKE)
ENOUGH, SHARE = 100, 0.1  # of the most frequent sign that is like it
DROPPED = members(INVISIBLE)
_FROZEN = unicodedata.ucd_3_2_0  # the same in each version of Python


class Reading(dict):
    """A table for `str.translate`: characters that a vocabulary lacks become others that it has.

    A character of `ALIKE` becomes the first one like it that the vocabulary has, others their NFKC form.
    Invisible characters are dropped; joiners, too, if the vocabulary has no script that needs them. What has
    no form that the vocabulary has stays, and is unknown.

    Args:
        known: the characters of the vocabulary, a set.
    """

    def __init__(self, known):
        self.known = known
        self.joined = any(is_joined(character) for character in known)

    def __missing__(self, code):
        self[code] = form = self._form(chr(code))
        return form

    def _form(self, character):
        if character in self.known:
            return character
        if character in DROPPED or (character in JOINERS and not self.joined):
            return ""
        for group in ALIKE:
            if character in group:
                return next((other for other in group if other in self.known), character)
        form = _FROZEN.normalize("NFKC", character)
        return form if self.known.issuperset(form) else character


def is_joined(character):
    """Whether a character is of a script with joiners: from Arabic to Myanmar, Khmer or Mongolian."""
    return "\u0600" <= character <= "\u109f" or "\u1780" <= character <= "\u18af"


def learned_signs(counts):
    """The signs of `ALIKE` that a model learns from a text: not the rare ones, next to one that is like them.

    Args:
        counts: a `Counter` of the characters of the text.

    Example:

    >>> from collections import Counter
    >>> found = learned_signs(Counter({'"': 1760, "\u201c": 3, "'": 9, "\u2019": 5, "-": 400, "\u2014": 150}))
    >>> found == "'\u2019" + '"-\u2014'
    True
    """
    most = {sign: max(counts[other] for other in group) for group in ALIKE for sign in group}
    return "".join(sign for sign in SIGNS if counts[sign] >= min(ENOUGH, SHARE * most[sign]))


@functools.cache
def nfc_rules():
    """The rules `nfc`, as `sentencepiece.SentencePieceNormalizer` takes them: a list of (text, form).

    Letters are composed, blanks are spaces, control characters and `INVISIBLE` are dropped. Everything else
    stays as it is.
    """
    rules = {}
    for character in _scanned():
        composed, letters = (_FROZEN.normalize(form, character) for form in ("NFC", "NFD"))
        beginnings = range(len(letters) if letters != character else 0)
        partly = [_FROZEN.normalize("NFC", letters[:i]) + letters[i:] for i in beginnings]
        rules |= {text: composed for text in (character, *partly) if text != composed}
    rules |= dict.fromkeys(members("\\x01-\\x1f\\x7f-\x9f") | DROPPED, "")
    rules |= dict.fromkeys(members(inside("Z", "\\x09-\\x0d\x85\u200b\u2581")) - {" "}, " ")
    return [*rules.items()]


def _scanned():
    """All characters that have other forms, and many more."""
    return map(chr, itertools.chain(range(0xA0, 0xD800), range(0xE000, 0x30000)))


def with_rules(model_bytes, rules):
    """A sentencepiece model with other rules of normalisation.

    A model is a Protocol Buffer, in which the last value of a field counts: `normalizer_spec` (3), with
    `precompiled_charsmap` (2), is appended.
    """
    spec = normalizer(norm_map=rules).serialized_normalizer_spec()
    size, length = len(spec), bytearray()
    while size > 127:  # a varint: seven bits per byte, the lowest first
        length.append(size & 127 | 128)
        size >>= 7
    return model_bytes + bytes([3 << 3 | 2, *length, size]) + spec


def rules_with(model_bytes, reading):
    """The rules of a model together with a `Reading`, for programs that have no such table."""
    try:
        rules = dict(normalizer(model_proto=model_bytes).Decompile())
    except RuntimeError:  # "No precompiled charsmap": it was trained with the rules `identity`
        rules = {}
    changed = (c for c in (*DROPPED, *JOINERS, *SIGNS, *_scanned()) if reading[ord(c)] != c)
    return [*{**rules, **{character: reading[ord(character)] for character in changed}}.items()]


def normalizer(**source):
    """A `sentencepiece.SentencePieceNormalizer`, which writes no log lines."""
    import sentencepiece

    sentencepiece.set_min_log_level(2)
    return sentencepiece.SentencePieceNormalizer(**source)
