import gzip

import pytest

from keraszoo.errors import KerasZooError
from keraszoo.text.tagged_corpus import TaggedSentence
from keraszoo.text.tagged_files import find_kind, read_sentences
from keraszoo.text.tokens import tokenize

TEXT = "The dogs ran\nhome. \nA cat said: “No.”\nIt\n\nslept\n"
COLUMNS = "-DOCSTART- O\n\nEd I-PER\nKoch I-PER\nwon O\n\nRome B-LOC\n"
TAGGED = "Ed_NNP 's_POS dog_NN ,_, M. D._NNP won_VBD ._.\n\n1/2/CD day/NN ``/`` PRP$_PRP$\n"


def tokens_of(*arguments, **options):
    return [list(sentence.tokens) for sentence in read_sentences(*arguments, **options)]


@pytest.mark.parametrize(
    ("text", "kind", "runs"),
    [
        (TEXT, "text", ["The dogs ran home .".split(), "A cat said : “ No . ”".split(), ["It"], ["slept"]]),
        (COLUMNS, "columns", [["Ed", "Koch", "won"], ["Rome"]]),
        (TAGGED, "tagged", ["Ed 's dog , M. D. won .".split(), "1/2 day `` PRP$".split()]),
        ("\n \n", "text", []),
    ],
)
def test_each_kind_is_found_and_read(write, text, kind, runs):
    path = write(text)
    assert find_kind(path) == kind
    assert tokens_of(path) == tokens_of(path, kind) == runs


def test_json_lines_are_known_by_their_name(write):
    text = '{"text": "Ed won. I saw.", "entities": [{"start": 0, "end": 2, "label": "PER"}]}\n'
    for path in write(text, "file.jsonl"), write(gzip.compress(text.encode()), "file.jsonl.gz"):
        assert find_kind(path) == "json"
        assert tokens_of(path) == [["Ed", "won", "."], ["I", "saw", "."]]
    assert next(iter(read_sentences(path))).tags == ("B-PER", "O", "O")


LIKE_COLUMNS = ["O O O\nwe sing\n", "either/or and/or\n", "I-95\n", "a TAB-free O\nline\n", "I saw\nB-12\n"]


def test_text_that_looks_a_little_like_another_kind(write):
    assert [find_kind(write(text)) for text in LIKE_COLUMNS] == ["text"] * len(LIKE_COLUMNS)
    assert find_kind(write("\xa0\tO\n\tO\nRome\tB-LOC\n")) == "columns"  # a token may be white space


@pytest.mark.parametrize("separator", ["\t", " "])
def test_a_first_row_may_name_the_columns(write, separator):
    path = write(separator.join(["word", "tag"]) + "\n" + COLUMNS.replace(" ", separator))
    assert find_kind(path) == "columns"
    assert tokens_of(path) == [["Ed", "Koch", "won"], ["Rome"]]


def test_tokens_are_those_of_the_taggers_and_tags_are_kept(write):
    text = "He's paid $1,000.50 to Dr. Smith-Jones at 9:30 (E. coli)"
    assert tokens_of(write(text)) == [[token.text for token in tokenize(text)]]
    assert tokens_of(write("IL-2"), rules="alphanumeric") == [["IL", "-", "2"]]
    runs = tokens_of(write("no full stop at all\n" * 1000))
    assert sum(map(len, runs)) == 5000 and max(map(len, runs)) < 1010
    assert [sentence.tags for sentence in read_sentences(write(COLUMNS))][1] == ("B-LOC",)
    assert next(iter(read_sentences(write(TEXT)))) == TaggedSentence(("The", "dogs", "ran", "home", "."))


def test_bad_files_are_named(write, tmp_path):
    path = write(b"good\nb\xe4d\n")
    for arguments, message in [
        ((path,), "file.txt:2: not UTF-8"),
        ((tmp_path / "none",), "No such file"),
        ((path, "words"), "got 'words'"),
    ]:
        with pytest.raises(KerasZooError, match=message):
            tokens_of(*arguments)
