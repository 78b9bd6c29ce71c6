"""Tokens and sentences: by eye, their places in any text, and the same expressions in TensorFlow's RE2."""

import random

import pytest

from keraszoo.errors import KerasZooError
from keraszoo.text import tokens as module
from keraszoo.text.columns import read_columns
from keraszoo.text.tokens import GAPS, TOKEN_RULES, fitting_rules, split_sentences, tokenize

PIECES = [
    *"word Éte\u0301 don't Isn’t 's O'Neil's e-mail rock'n'roll AT&T &amp; x_y".split(" "),
    *"3.5 1,000.00 1999-2000 7:30pm 5th -2 ½ IL-2 U.S. J. e.g. Dr. I. etc.".split(" "),
    *"http://t.co/aB1). https://x.org/a?b=c&d#e, www.a.de me.too+1@x-y.co.uk a.com/b. HTTP://".split(" "),
    *"@who #MH17 @ # ... -- !!! ?! :-) <3 ( ) “ ” '' `` … '".split(" "),
    *("😀", "👩🏽\u200d🚀", "❤\ufe0f", "🇩🇪🇫🇷", "🇩", "1\ufe0f\u20e3", "🏴\U000e0067\U000e007f", "\u200d", "‼"),
    *("虎牢", "ไทย", "नमस्ते", "עִבְרִית", "\u0301", "\xad", "\u200b", "\ufeff", "\xa0", "\u2028", "\u3000"),
    *(" ", " ", "  ", "\n", "\n\n", "\r\n", "\t", ". ", "! ", "? he", '." ', ".) A", "No. 5", "No. "),
    *("a", "B", "。", "\x85", "\x1f", "\ufffd", "\U0001f9ff", "\U0001faff", "\U00010ffd", "\ue000", "\uffff"),
    *"€ + ^ ǅ Ⅷ _ ·".split(" "),
]
SLOW_BUT_ONE = [
    rules if rules == "words" else pytest.param(rules, marks=pytest.mark.slow) for rules in TOKEN_RULES
]


def any_texts(count):
    draw = random.Random(0)
    return ["".join(draw.choices(PIECES, k=draw.randint(0, 12))) for _ in range(count)]


def words(text, rules="words"):
    return " ".join(token.text for token in tokenize(text, rules))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dogs bark.", "Dogs bark ."),
        ("It's John's, isn't it? They'd've!", "It 's John 's , is n't it ? They'd 've !"),
        ("I CAN'T; 'quoted' the boys' ’twas n’t", "I CA N'T ; ' quoted ' the boys ' ’ twas n’t"),
        ("Mr. J. S. Bach (U.S.) e.g. so did I.", "Mr. J. S. Bach ( U.S. ) e.g. so did I ."),
        ("well-known Jean-Luc 1994-95 F-16s", "well-known Jean-Luc 1994-95 F-16s"),
        ("$1,000.50, 15% 7:30pm 1/2 -3", "$ 1,000.50 , 15 % 7:30pm 1/2 - 3"),
        (
            "see http://a.b/c_(d)?e=f. Or <www.x.org>, a.com",
            "see http://a.b/c_(d)?e=f . Or < www.x.org > , a.com",
        ),
        (
            "(http://t.co/x) me@a-b.co.uk, x@y http://t.c…",
            "( http://t.co/x ) me@a-b.co.uk , x @y http://t.c…",
        ),
        ("RT @who's: #MH17, @_x &amp; AT&T", "RT @who 's : #MH17 , @_x &amp; AT&T"),
        ("Wow!!! ok... so--well ?! :-) <3", "Wow !!! ok ... so -- well ?! :-) <3"),
        (
            "I❤\ufe0fU 👩🏽\u200d🚀👍🏿 🇩🇪🇫🇷 1\ufe0f\u20e3",
            "I ❤\ufe0f U 👩🏽\u200d🚀 👍🏿 🇩🇪 🇫🇷 1\ufe0f\u20e3",
        ),
        ("e\u0301te\u0301\xa0a\u200bb\ufeff", "e\u0301te\u0301 a b"),
        ("\u200eParis\u200f, \u202aRome\u202c. Pa\xadris\xad \ufeffBonn", "Paris , Rome . Pa\xadris Bonn"),
        ("\u200dein\u200cmal \u0d28\u0d4d\u200d \u200d", "ein\u200cmal \u0d28\u0d4d\u200d"),
        # signs of later versions of Unicode
        ("Paris\u2ffcRome", "Paris \u2ffc Rome"),
        ("a\u0295b", "a\u0295b"),
        ("a\U0001fabcb", "a \U0001fabc b"),
    ],
)
def test_words(text, expected):
    assert words(text) == expected


def test_other_rules():
    text = "Dr. @who's IL-2 isn't U.S. made: 2.5mg!! 👩🏽\u200d🚀 x_y"
    assert words(text, "marks_apart") == "Dr . @ who 's IL-2 is n't U.S. made : 2.5mg ! ! 👩🏽\u200d🚀 x_y"
    assert (
        words(text, "alphanumeric")
        == "Dr . @ who ' s IL - 2 isn ' t U . S . made : 2 . 5mg ! ! 👩🏽\u200d🚀 x_y"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \n\xa0", []),
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("  No end\nhere  ", ["No end\nhere"]),
        (
            "Mr. J. S. Bach of the U.S. Army ate No. 5. So did I. Fine",
            ["Mr. J. S. Bach of the U.S. Army ate No. 5.", "So did I.", "Fine"],
        ),
        (
            '"Why?" he asked. (He left.) "Oh!" Ann said',
            ['"Why?" he asked.', "(He left.)", '"Oh!"', "Ann said"],
        ),
        ("It is 3.5 at a.com... and so on. ... Ok?!", ["It is 3.5 at a.com... and so on.", "...", "Ok?!"]),
        ("Title\n\nBody\r\n\r\nNext . End", ["Title", "Body", "Next .", "End"]),
        ("你好。 世界！", ["你好。", "世界！"]),
        ("好。」是！Paris。He left.She", ["好。」", "是！", "Paris。", "He left.She"]),
        ("He said no. 👍 Good.", ["He said no.", "👍 Good."]),
    ],
)
def test_sentences(text, expected):
    assert [sentence.text for sentence in split_sentences(text)] == expected


@pytest.mark.parametrize("rules", TOKEN_RULES)
def test_tokens_stand_where_they_say(rules):
    unseen = module.compile_expression(GAPS)
    for text in any_texts(400):
        tokens = tokenize(text, rules)
        assert all(text[start:end] == token != "" for token, start, end in tokens)
        places = [place for _, start, end in tokens for place in range(start, end)]
        assert places == sorted(set(places))
        visible = {i for i, character in enumerate(text) if not unseen.match(character)}
        assert visible <= set(places)
        assert not any(unseen.match(token.text) for token in tokens)
        sentences = split_sentences(text)
        assert [t for s in sentences for t in tokenize(s.text, rules) if t] == [
            (token, start - s.start, end - s.start)
            for s in sentences
            for token, start, end in tokens
            if s.start <= start < s.end
        ]
        assert all(text[start:end] == sentence == sentence.strip() for sentence, start, end in sentences)
        assert unseen.sub("", text) == unseen.sub("", "".join(s.text for s in sentences))


@pytest.mark.parametrize("rules", SLOW_BUT_ONE)
def test_a_graph_cuts_at_the_same_places(rules, characters_of_every_kind):
    tf = pytest.importorskip("tensorflow")
    pytest.importorskip("tensorflow_text")
    from keraszoo.tagging import graph_ops

    texts = [*any_texts(150), "\u200ea.\u200f b\xadc", "\ufeff \xad", "a\0b", "\0x. y", "好。是！a"]
    texts += ["a " * 512, "a b. " + "c " * 1100 + ". d"]
    texts += ["\n\n".join(f"a{c}b" for c in some) for some in characters_of_every_kind]
    parts = [part.to_list() for part in graph_ops.tokenize(tf.constant(texts), rules)]
    for text, words, start, end in zip(texts, *parts, strict=True):
        ours = [
            [(word.decode(), *places) for word, *places in zip(*sentence, strict=True)]
            for sentence in zip(words, start, end, strict=True)
        ]
        assert ours == module.sentence_tokens(text, rules), text


@pytest.mark.parametrize(
    "piece", ["ab.", "+", "a.b@", "-a", "'", ".", '."', "1,", "ab", "😀", "www.", "a\u200d", "\xada", "&a"]
)
def test_long_text_without_blanks_is_split_in_linear_time(piece):
    text = piece * (30_000 // len(piece))  # minutes if the time were quadratic
    assert "".join(token.text for token in tokenize(text)) == text.lstrip("\xad")
    assert "".join(sentence.text for sentence in split_sentences(text)) == text


def test_rules_fit_a_corpus():
    assert fitting_rules([["IL", "-", "2"]]) == "alphanumeric"
    assert fitting_rules([["@", "who", "well-known"]]) == "marks_apart"
    assert fitting_rules([["@who", "well-known"]]) == "words"
    assert fitting_rules([]) == "alphanumeric"
    # Finer rules may fail on one token in a thousand.
    for whole, rules in (1, "alphanumeric"), (2, "marks_apart"):
        assert fitting_rules([["well-known"] * whole + ["known"] * (1000 - whole)]) == rules


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "rules", "share"),
    [
        ("wnut17/train.conll.gz", "words", 0.976),
        ("wikigold/wikigold.conll.gz", "words", 0.997),
        ("btc/a.conll.gz", "marks_apart", 0.994),
        ("bio_ncbi_disease/devel.tsv.gz", "alphanumeric", 1.0),
    ],
)
def test_the_real_corpora(shared_data, name, rules, share):
    sentences = [sentence.tokens for sentence in read_columns(shared_data(name))]
    assert fitting_rules(sentences) == rules
    tokens = [token for sentence in sentences for token in sentence]
    assert sum(len(tokenize(token, rules)) == 1 for token in tokens) >= share * len(tokens)


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (tokenize, [b"x"], "expected a text, a string, got bytes"),
        (split_sentences, [None], "got NoneType"),
        (tokenize, ["", "x"], "expected token rules of words, marks_apart, alphanumeric, got 'x'"),
        (tokenize, ["a b c d. EF"], "a text of 11 characters; split texts above 10$"),
        (split_sentences, ["a b c d. EF"], "a text of 11 characters; split texts above 10$"),
    ],
)
def test_texts_that_cannot_be_split(monkeypatch, function, arguments, message):
    monkeypatch.setattr(module, "LONGEST_TEXT", 10)
    assert len(tokenize("a b c d. E")) == 6
    with pytest.raises(KerasZooError, match=message):
        function(*arguments)
