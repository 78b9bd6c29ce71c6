"""What a vocabulary of subwords reads a text as: rules of normalisation, and forms of characters it lacks."""

import functools
import itertools
import re
import unicodedata

from keraszoo.text.characters import INVISIBLE, JOINERS, inside, members

RULES = ("nfc", "nmt_nfkc")  # what a vocabulary may be trained with
# Characters that people and programs type for one another, the plain one first.
ALIKE = (
    "'\u2019\u2018\u02bc\u00b4`\u2032\u201b\u02bb\u201a\u2039\u203a\u02b9\u02bd\u2035\u275b\u275c",
    '"\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033\u2036\u275d\u275e\u301d\u301e\u301f\u300c\u300d\u300e\u300f',
    "-\u2013\u2014\u2010\u2011\u2012\u2015\u2212\u2043\u2e3a\u2e3b",
)
# Two apostrophes or commas that stand for a quotation mark, as in ``yes''.
DOUBLED = (*(2 * sign for sign in ALIKE[0]), ",,")
GAPS = " \u00a0\u2009\u202f"  # between a quotation mark and a word
SIGNS = "".join(ALIKE)
ENOUGH, SHARE = 100, 0.1  # of the most frequent sign that is like it
DROPPED, JOINING = members(INVISIBLE), members(JOINERS)
_FROZEN = unicodedata.ucd_3_2_0  # the same in each version of Python


class Reading(dict):
    """A table for `str.translate`: characters that a vocabulary lacks become others that it has.

    A character of `ALIKE` becomes the first one like it that the vocabulary has, others their NFKC form.
    Invisible characters are dropped; joiners, too, if the vocabulary has no script that needs them. What has
    no form that the vocabulary has stays, and is unknown.

    Args:
        known: the characters of the vocabulary, a set.
        pieces: its pieces; those in `pairs` are not changed.

    Attributes:
        pairs: forms of two characters: two apostrophes are a quotation mark. Between a mark and its word
            there is no blank in a German text, and no no-break space, unless the vocabulary has \u00ab.
    """

    def __init__(self, known, pieces=()):
        self.known = known
        # from Arabic to Myanmar, Khmer or Mongolian: scripts with joiners
        self.joined = any("\u0600" <= c <= "\u109f" or "\u1780" <= c <= "\u18af" for c in known)
        forms = dict.fromkeys(DOUBLED, self._form('"'))
        if "\u00ab" not in known:
            if "\u201e" in known:  # German
                opening, closing, gaps = "\u201e\u00bb", "\u201c\u00ab", GAPS
            else:
                opening, closing, gaps = "\u201e\u00ab", "\u00bb", GAPS[1:]
            forms |= {f"{sign}{gap}": self._form(sign) for sign in opening for gap in gaps}
            forms |= {f"{gap}{sign}": self._form(sign) for sign in closing for gap in gaps}
        learned = "\n".join(pieces)
        self.pairs = {pair: form for pair, form in forms.items() if pair not in learned}
        self._find_pairs = re.compile("|".join(map(re.escape, self.pairs)) or "(?!)")

    def __call__(self, text):
        return self._find_pairs.sub(lambda pair: self.pairs[pair[0]], text).translate(self)

    def __missing__(self, code):
        self[code] = form = self._form(chr(code))
        return form

    def _form(self, character):
        if character in self.known:
            return character
        if character in DROPPED or (character in JOINING and not self.joined):
            return ""
        for group in ALIKE:
            if character in group:
                return next((other for other in group if other in self.known), character)
        form = _FROZEN.normalize("NFKC", character)
        form = "".join(map(self._form, form)) if form != character else form
        return form if self.known.issuperset(form) else character


def learned_signs(counts):
    """The signs of `ALIKE` to learn from a text with these counts: none that is rare next to one like it."""
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

    A model is a Protocol Buffer: what is appended replaces values from before.
    """
    return model_bytes + normalizer(norm_map=rules).serialized_model_proto()


def rules_with(model_bytes, reading):
    """The rules of a model together with a `Reading`, for programs that have no such table."""
    try:
        rules = dict(normalizer(model_proto=model_bytes).Decompile())
    except RuntimeError:  # "No precompiled charsmap": it was trained with the rules `identity`
        rules = {}
    changed = (c for c in (*DROPPED, *JOINING, *SIGNS, *_scanned()) if reading[ord(c)] != c)
    forms = {character: reading[ord(character)] for character in changed}
    return [*{**rules, **forms, **reading.pairs}.items()]


def normalizer(**source):
    """A `sentencepiece.SentencePieceNormalizer`, which writes no log lines."""
    import sentencepiece

    sentencepiece.set_min_log_level(2)
    return sentencepiece.SentencePieceNormalizer(**source)
