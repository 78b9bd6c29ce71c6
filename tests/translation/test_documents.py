"""Documents, markup and words to keep, with translators that reverse words, copy, or write at random."""

import random
import re
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keraszoo.errors import KerasZooError
from keraszoo.search import SearchOptions
from keraszoo.translation.text_translator import TextTranslator


class Words:
    """A vocabulary of all words: a mark at the end of a word is a subword."""

    def encode(self, texts):
        return [re.findall(r"\S+?(?=[.,!?;:]*(?:\s|$))|[.,!?;:]+", text) for text in texts]

    def pieces(self, row):
        return [piece if piece[0] in ".,!?;:" else f"\u2581{piece}" for piece in row]


class Reversing(TextTranslator):
    """Writes the words of each sentence in reverse order in capitals, and its last mark at the end.

    Names and numbers stay as they are, except those in `changes`.
    """

    source_subwords = target_subwords = Words()
    search = SearchOptions(max_length=30)
    max_source_tokens = 512
    attends = True

    def __init__(self, changes=None, order=-1):
        self.changes, self.order, self.read = changes or {}, order, []

    def require_attention(self, wanted="attention weights"):
        if not self.attends:
            raise KerasZooError(f"it has no {wanted}")

    def translate(self, texts, *arguments, **options):
        if {"markup", "keep"} & set(options):
            return super().translate(texts, *arguments, **options)
        self.read += texts
        return [self._reversed(text) for text in texts]

    def _reversed(self, text):
        words, mark = re.fullmatch(r"(.*?)([.,!?;:]*)", " ".join(text.split()), re.DOTALL).groups()
        return (
            " ".join(self.changes.get(word, word.lower()) for word in words.split(" ")[:: self.order]) + mark
        )

    @property
    def forced_decoding(self):
        def weights(sources, targets, batch_size=64, heads=False):
            results = []
            for source, target in zip(sources, targets, strict=True):
                matrix = np.full((len(target) + 1, len(source) + 1), 0.01)
                for i, word in enumerate(target):
                    for j, other in enumerate(source):
                        matrix[i, j] += word.lower() == other.lower()
                results.append(matrix[None, None])
            return results

        return SimpleNamespace(attention_weights=weights)


class Copying(Reversing):
    """Copies."""

    def _reversed(self, text):
        return text


class Careless(Reversing):
    """Writes some of the words, some twice, and others that nobody asked for; perhaps nothing."""

    def _reversed(self, text):
        draw, words = random.Random(text), [word for word in text.split() if word[0].isalpha()]
        return " ".join(draw.choices([*words, "Tom", "48", "x1"], k=draw.randint(0, 9)))


NAMES = {
    name: name for name in ("Tom", "Anna", "Nancy", "Ken", "Bob", "Jack", "Boston", "Berlin", "Madrid", "48")
}


@pytest.fixture
def reversing():
    return Reversing(NAMES)


TEXTS = {
    "tags around the words that are aligned": (
        "He <b>bought a <i>red</i> car</b> today.",
        "today <b>car <i>red</i> a bought</b> he.",
    ),
    "a tag around all": ("<u>one two</u>", "<u>two one</u>"),
    "tags without an end": ("a<br>b c <img src='x'> d!", "<img src='x'> d c <br>b a!"),
    "tags side by side": ("a <b>dog</b> <i>runs</i> now", "now <i>runs</i> <b>dog</b> a"),
    "placeholders, addresses and words to keep": (
        "See {name} at https://x.org/A and Acme Inc today.",
        "today Acme Inc and https://x.org/A at {name} see.",
    ),
    "a stand-in is no word of the text": ("Tom met {name}.", "{name} met Tom."),
}


@pytest.mark.parametrize(("text", "wanted"), TEXTS.values(), ids=TEXTS)
def test_tags_and_kept_words_come_out_in_their_places(reversing, text, wanted):
    assert reversing.translate([text], markup="html", keep=["Acme Inc"]) == [wanted]


CHANGES = {
    "the first stand-in": ({}, "a b {name} c d.", "d c {name} b a."),
    "a second stand-in": ({"Tom": "Tim"}, "a b {name} c d.", "d c {name} b a."),
    "no stand-in is copied": ({"Tom": "Tim", "Boston": "Bosten"}, "a b {name} c d.", "b a {name} d c."),
    "a wrong number": ({"1987": "1978"}, "In 1987 it was.", "was it 1987 in."),
    "a number in words": ({"two": "2"}, "In two days.", "days 2 in."),
    "a number for a placeholder": ({"2": "zwei"}, "2 of %d cats.", "cats %d of zwei."),
}


@pytest.mark.parametrize(("changes", "text", "wanted"), CHANGES.values(), ids=CHANGES)
def test_words_that_a_model_changes_are_put_right(changes, text, wanted):
    assert Reversing({**NAMES, **changes}).translate([text], markup="text") == [wanted]


def test_stand_ins_are_tried_one_after_the_other():
    translator = Reversing({**NAMES, "Tom": "Tim"})
    translator.translate(["a b {name} c d."], markup="text")
    assert translator.read == ["a b Tom c d.", "a b Boston c d."]


def test_there_may_be_more_placeholders_than_names(reversing):
    text = "x " + " y ".join(f"{{p{i}}}" for i in range(30)) + " z."
    (found,) = reversing.translate([text], markup="text")
    assert sorted(re.findall(r"\{p\d+\}", found)) == sorted(f"{{p{i}}}" for i in range(30))


@pytest.mark.filterwarnings("error::keraszoo.errors.SeveralSentences")
def test_documents_keep_their_form(reversing):
    text = "Title\n\n  1. One two. Three four!\n\t- {x} five\n\n\n---\n> 12.50\n"
    expected = "title\n\n  1. two one. four three!\n\t- five {x}\n\n\n---\n> 12.50\n"
    assert reversing.translate_document(text) == expected
    assert set(reversing.read) == {"Title", "One two.", "Three four!", "Tom five"}


def test_a_full_stop_that_a_model_adds_is_left_out():
    class Stopping(Reversing):
        def _reversed(self, text):
            return super()._reversed(text).rstrip(".!") + "."

    text, found = "A title\n\nOne two.\n- {x} three!", "title a\n\ntwo one.\n- three {x}."
    assert Stopping(NAMES).translate_document(text) == found


def test_a_tag_over_two_sentences_is_one_tag(reversing):
    text = "<p>One <b>two three. Four five</b> six. <i>Seven eight. Nine ten.</i></p>"
    found = "<p><b>three two one. six five four</b>. <i>eight seven. ten nine.</i></p>"
    assert reversing.translate_document(text, markup="html") == found


def test_long_sentences_are_cut_at_commas_and_nothing_is_lost(reversing):
    words = [f"w{i}" + "," * (i % 7 == 6) for i in range(200)]
    found = reversing.translate_document(" ".join(words) + ".")
    assert sorted(re.findall(r"w\d+", found)) == sorted(re.findall(r"w\d+", " ".join(words)))
    assert max(len(Words().encode([text])[0]) for text in reversing.read) <= 20
    assert sum(text.endswith(",") for text in reversing.read) == len(reversing.read) - 1


def test_sentences_are_those_of_the_language_by_default_that_of_the_model(reversing):
    reversing.translate_document("Das ist z. B. ein Hund. Er bellt.", language="de")
    assert reversing.read == ["Das ist z. B. ein Hund.", "Er bellt."]
    german = Reversing(NAMES)
    german.about = {"languages": ["de", "en"]}
    german.translate_document("Am 3. Mai kommt er. Er bleibt.")
    assert german.read == ["Am 3. Mai kommt er.", "Er bleibt."]


def test_without_attention_there_is_no_markup_but_everything_else(reversing):
    reversing.attends = False
    with pytest.raises(KerasZooError, match="it has no markup html, which attention places"):
        reversing.translate(["<b>a</b>"], markup="html")
    assert reversing.translate_document("Two {x} one. Four three.") == "one {x} two. three four."


@pytest.mark.parametrize(
    ("method", "text", "options", "said"),
    [
        ("translate", ["a"], {"markup": "xml"}, "markup: expected one of text, html, markdown, got 'xml'"),
        ("translate", "a", {"markup": "text"}, "texts: expected a list of str, got a str"),
        ("translate", ["a"], {"keep": "Acme"}, "keep: expected a list of str, got a str"),
        ("translate", ["a"], {"keep": ["b"], "prefix": "c"}, "prefix: expected None with markup or keep"),
        ("translate_document", ["a"], {}, "text: expected a str, got list"),
        ("translate_document", "a", {"language": "german!"}, "language: expected a code"),
        ("translate_document", "a", {"markup": None}, "markup: expected one of"),
    ],
)
def test_invalid_texts_and_options_raise_errors(reversing, method, text, options, said):
    with pytest.raises(KerasZooError, match=said):
        getattr(reversing, method)(text, **options)


PIECES = ["a", "Bc", "d.", "E!", " ", " ", "\n", "\n\n", "\t", "- ", "1. ", "> ", "{x}", " %s ", "12"]
PIECES += [" www.a.org ", "\u2028", "\u00e9", "\u732b", ",", "\r\n", "\u00a0", "Tom"]
TAGS = ["<b>", "</b>", "<i>", "</i>", "<br>", "<p>", "</p>", "<code>y</code>", "&amp;", "<!-- a -->"]
TAGS += ["[", "](u)", "**", "*"]


def count(pattern, text):
    return sorted(re.findall(pattern, text))


TAG = r"</?[bip]>|<br>|<code>y</code>|<!-- a -->"
KEPT = r"\{x\}|%s|www\.a\.org"


@settings(max_examples=400)
@given(
    st.lists(st.sampled_from(PIECES + TAGS), max_size=16).map("".join),
    st.sampled_from(["text", "html", "markdown"]),
    st.sampled_from([Reversing, Careless]),
)
def test_structure_placeholders_and_tags_of_any_document_stay(text, markup, kind):
    found = kind(NAMES).translate_document(text, markup=markup)
    assert count(KEPT, found) == count(KEPT, text)
    if markup == "text" and not re.search(r"[<*\]&]", text):
        for one, other in zip(found.splitlines(), text.splitlines(), strict=True):
            starts = [re.match(r"[\s>-]*(1\. )?", line)[0].strip() for line in (one, other)]
            assert starts[0] == starts[1] and bool(one.strip()) == bool(other.strip())
    elif markup == "html":
        assert count(TAG, found) == count(TAG, text)


@settings(max_examples=300)
@given(st.lists(st.sampled_from(PIECES), max_size=16).map("".join))
def test_a_model_that_copies_copies_documents(text):
    if not re.search(r"\s\s|[\u00a0]", text.strip()):
        assert Copying().translate_document(text) == text


@settings(max_examples=100)
@given(st.text(max_size=40), st.sampled_from(["text", "html", "markdown"]))
def test_any_text_is_answered(text, markup):
    Reversing(NAMES).translate_document(text, markup=markup)
