"""Columns of tokens and tags: files of every form, and the corpora themselves where they are."""

import gzip

import pytest

from keraszoo.errors import DataError, KerasZooError
from keraszoo.text.columns import column_lines, lines_with_tags, read_columns
from keraszoo.text.lines import write_lines
from keraszoo.text.tag_schemes import spans
from keraszoo.text.tagged_corpus import TaggedSentence


def tokens_and_tags(corpus):
    return [(" ".join(sentence.tokens), " ".join(sentence.tags)) for sentence in corpus]


ROMANS = [("Ed Koch ran", "B-P I-P O"), ("Rome", "B-L")]


@pytest.mark.parametrize("gap", ["\t", " ", "  \t ", " \t"])
@pytest.mark.parametrize(
    ("pack", "bom", "line_end", "blank", "last"),
    [
        (bytes, "", "\n", "", ""),
        (gzip.compress, "\ufeff", "\r\n", "\t", "\n"),
        (bytes, "", "\n", " \xa0", "\n\n\n"),
    ],
)
def test_files_of_every_form(write, pack, bom, line_end, gap, blank, last):
    rows = ["", "Ed_B-P", "Koch_I-P  ", "ran_O\xa0", blank, blank, "Rome_B-L"]
    text = bom + "\n".join(rows).replace("_", gap) + last
    corpus = read_columns(write(pack(text.replace("\n", line_end).encode())))
    assert tokens_and_tags(corpus) == ROMANS
    assert [sentence.line for sentence in corpus] == [2, 7]
    assert (corpus.scheme, corpus.repaired, corpus.labels) == ("IOB2", 0, ("L", "P"))
    assert corpus.count_tokens() == 4


def test_columns_by_number_and_by_name(write):
    path = write("1 Ed NNP B-P x\n2 Koch NNP I-P y\n")
    assert tokens_and_tags(read_columns(path, 1, 3)) == [("Ed Koch", "B-P I-P")]
    assert tokens_and_tags(read_columns(path, -4, -2)) == [("Ed Koch", "B-P I-P")]
    header = write("\n-DOCSTART-\nner,word\nB-P,Ed\nI-P,New York\n\nO,x\n")
    corpus = read_columns(header, "word", "ner", separator=",")
    assert [sentence.tokens for sentence in corpus] == [("Ed", "New York"), ("x",)]
    assert [sentence.document for sentence in corpus] == [0, 0] and corpus.sentences[0].line == 4
    lines = lines_with_tags(corpus, [("O", "B-P"), ("O",)])
    assert lines == ["", "-DOCSTART-", "ner,word,tag", "B-P,Ed,O", "I-P,New York,B-P", "", "O,x,O"]


def test_tokens_alone_and_added_tags_change_nothing_else(write):
    corpus = read_columns(write("Ed NNP\nKoch NNP\n\nx Y"), tag_column=None)
    assert corpus.sentences[0] == TaggedSentence(("Ed", "Koch"))
    assert (corpus.scheme, corpus.labels) == (None, ())
    assert lines_with_tags(corpus, [("B-P", "I-P"), ("O",)]) == ["Ed NNP B-P", "Koch NNP I-P", "", "x Y O"]
    text = "Ed  NNP  \n Koch\tNNP\n\xa0\n-DOCSTART- O\n\nB-P B-P"
    corpus = read_columns(write("\ufeff" + text), tag_column=None)
    lines = lines_with_tags(corpus, [("O", "B-L"), ("O",)])
    assert lines == "Ed  NNP O\n Koch\tNNP B-L\n\xa0\n-DOCSTART- O\n\nB-P B-P O".split("\n")


def test_documents_and_odd_tokens(write):
    row, bound = "a O\n\n", "-DOCSTART- -X- O O\n\n"
    corpus = read_columns(write(bound + row * 2 + bound * 2 + "a O\n" + bound + row + bound))
    assert [sentence.document for sentence in corpus] == [0, 0, 1, 2]
    corpus = read_columns(write("New York\tB-L\n\xa0\tO\n\tO\n\u200b\tO\na\u2028b\tO\nc\xa0d \tO\n"))
    assert corpus.sentences[0].tokens == ("New York", "", "", "\u200b", "a\u2028b", "c\xa0d")
    assert read_columns(write("c\xa0d O\n  e  O")).sentences[0].tokens == ("c\xa0d", "e")
    # invisible characters make no other label
    corpus = read_columns(write("Ed\u200e\tB-PER\u200e\nKoch\tI-\ufeffPER\nran\tO\u2060\n"))
    assert tokens_and_tags(corpus) == [("Ed\u200e Koch ran", "B-PER I-PER O")]


def test_schemes_become_one(write):
    files = {
        "IOB1": "a I-P\nb I-P\nc B-P\nd O",
        "IOB2": "a B-P\nb I-P\nc B-P\nd O",
        "BIOES": "a B-P\nb E-P\nc S-P\nd O",
        "BILOU": "a B-P\nb L-P\nc U-P\nd O",
    }
    for scheme, text in files.items():
        corpus = read_columns(write(text))
        assert (corpus.scheme, corpus.repaired) == (scheme, 0)
        assert corpus.sentences[0].tags == ("B-P", "I-P", "B-P", "O")
        rows = [line.replace("\t", " ") for line in column_lines(corpus, scheme)]
        assert rows == [*text.split("\n"), ""]
    bmes = read_columns(write("a B-P\nb M-P\nc E-P\nd S-P"))
    assert (bmes.scheme, bmes.repaired, bmes.sentences[0].tags) == ("BIOES", 0, ("B-P", "I-P", "I-P", "B-P"))
    corpus = read_columns(write("a I-P\nb I-P\nc I-L"), scheme="IOB2")
    assert (corpus.scheme, corpus.repaired, corpus.sentences[0].tags) == ("IOB2", 2, ("B-P", "I-P", "B-L"))


def test_the_last_columns_of_a_row_may_be_empty(write):
    text = "token\ttag\tcomment\tby\nEd\tB-P\tmayor\tme\nran\tO\t\t \nfar\tO\tx\t\t\n"
    corpus = read_columns(write(text), "token", "tag")
    assert tokens_and_tags(corpus) == [("Ed ran far", "B-P O O")]
    assert lines_with_tags(corpus, [("O", "B-L", "I-L")])[1:] == [
        "Ed\tB-P\tmayor\tme\tO",
        "ran\tO\t\t\tB-L",
        "far\tO\tx\t\tI-L",
    ]
    assert read_columns(write("O\tfoo\nO\t \n"), 1, 0).sentences[0].tokens == ("foo", "")


def test_new_columns_are_read_as_they_were(tmp_path):
    sentences = [
        TaggedSentence(("New York", "\u200b", "-"), ("B-L", "I-L", "O"), 0, 1),
        TaggedSentence(("#",), ("O",), 0, 5),
        TaggedSentence(("", "x"), ("O", "B-creative-work"), 1, 9),
    ]
    for scheme in ("IOB2", "BIOES"):
        write_lines(tmp_path / "new", column_lines(sentences, scheme))
        assert read_columns(tmp_path / "new").sentences == sentences
    wrong = (("a\tb",), ("O",)), (("-DOCSTART-",), ("O",)), (("-DOCSTART-\xa0x",), ("O",)), (("a", "b"), ())
    for tokens, tags in wrong:
        with pytest.raises(DataError, match="cannot write "):
            list(column_lines([TaggedSentence(tokens, tags)]))


@pytest.mark.parametrize(
    ("data", "line", "message"),
    [
        ("", None, "expected rows of a token and its tag, got none"),
        ("# id 7 x\n\n# text = y O\n", None, "got none"),
        ("a\tO\nb O\n", 2, "expected 2 columns, as in line 1, got 1: 'b O'"),
        ("a\nb\n", 1, "got both in column 0 of 1; is there another separator?"),
        ("a\tO\nb\t\n", 2, "expected a tag such as O, B-PER or I-PER, got ''"),
        ("a\tx\tO\nb\t\tO\n\t\t\tO", 3, "expected 3 columns"),
        ("a B-P\nb E-P\n\nc U-P\n", None, "expected tags of one scheme"),
        ("Ed\tB-PER\rran\tO\n", 1, "a carriage return (CR) inside the line"),
        ("Ed B-P\n# nothing\n", 2, "expected a tag such as O"),
        ("a O\nb PER\n", 2, "got 'PER'; labels without B- or I- are read with the scheme plain"),
        ("Ed\tPER\nran\tO\n", 1, "if this is a header, give the names of the columns, not numbers; labels"),
        ("1\tEd\tB-P\n2\tran\tO\n\n1\tRome\tB-L\n", None, "column 0 holds the numbers of tokens; choose"),
    ],
)
def test_errors_name_file_and_line(write, data, line, message):
    path = write(data)
    with pytest.raises(DataError) as caught:
        read_columns(path)
    assert message in str(caught.value) and "\n" not in str(caught.value)
    assert (caught.value.path, caught.value.line) == (path, line)


def test_what_cannot_be_asked_for(write):
    path = write("\na x B-P\nb x O\n")
    for options, message in [
        ({"tag_column": 3}, ":2: expected a column 3, got 3 columns"),
        ({"token_column": -4}, ":2: expected a column -4, got 3 columns"),
        ({"token_column": "w"}, ":2: expected a column 'w', got a, x, B-P"),
        ({"scheme": "IO"}, ":2: expected a tag of IO, with a letter of I, got 'B-P'"),
        ({"scheme": "BIO"}, "expected a tag scheme of"),
    ]:
        with pytest.raises(KerasZooError, match=message):
            read_columns(path, **options)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "scheme", "sentences"),
    [
        ("wnut17/train.conll.gz", "IOB2", 3394),
        ("wikigold/wikigold.conll.gz", "IO", 1696),
        ("btc/h.conll.gz", "IOB2", None),
        ("bio_bc5cdr/test.tsv.gz", "IOB2", 4797),
    ],
)
def test_the_real_corpora(shared_data, name, scheme, sentences):
    path = shared_data(name)
    corpus = read_columns(path)
    text = gzip.decompress(path.read_bytes()).decode()
    rows = [line for line in text.split("\n") if line.strip() and not line.startswith("-DOCSTART-")]
    assert sentences in (None, len(corpus))
    assert corpus.count_tokens() == len(rows)
    assert corpus.scheme == scheme
    lines = lines_with_tags(corpus, [sentence.tags for sentence in corpus])
    changed = [old for old, new in zip(text.split("\n"), [*lines, ""], strict=True) if old != new]
    assert changed == rows
    if scheme == "IOB2" and corpus.repaired == 0:
        entities = sum(len(spans(sentence.tags, "IOB2")) for sentence in corpus)
        assert entities == sum("\tB-" in row for row in rows)
    if "wikigold" in name:
        assert corpus.sentences[-1].document + 1 == text.count("-DOCSTART-") == 145


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        # MultiCoNER 1 and 2: the note has as many fields as a row, or a tab of its own
        ("# id 0000 domain=en\nEd _ _ B-P\nKoch _ _ I-P\nran _ _ O\n\n# id 1\tdomain=en\nRome _ _ B-L\n", {}),
        # UniversalNER, as in CoNLL-U
        (
            "# sent_id = a-1\n# text = Ed Koch ran\n1\tEd\tB-P\t-\n2\tKoch\tI-P\t-\n3\tran\tO\t-\n\n"
            "# newdoc\n# text = Rome\n1\tRome\tB-L\t-\n",
            {"token_column": 1, "tag_column": 2},
        ),
        # HIPE: a header, then notes, also between the rows of a sentence
        (
            "TOKEN\tNE\tMISC\n# hipe2022:document_id = a\nEd\tB-P\t_\n# segment_iiif_link = _\nKoch\tI-P\t_\n"
            "ran\tO\t_\n\n# hipe2022:document_id = b\nRome\tB-L\t_\n",
            {"token_column": "TOKEN", "tag_column": "NE"},
        ),
        # GermEval 2014
        (
            "#\thttp://de.wikipedia.org/wiki/Ed [2009]\n1\tEd\tB-P\tO\n2\tKoch\tI-P\tO\n3\tran\tO\tO\n\n"
            "#\thttp://x [2009]\n1\tRome\tB-L\tO\n",
            {"token_column": 1, "tag_column": 2},
        ),
        # a title of one file
        ("# A corpus of two sentences\nEd\tB-P\nKoch\tI-P\nran\tO\n\nRome\tB-L\n", {}),
    ],
)
def test_comments_are_no_words(write, text, columns):
    path = write(text)
    corpus = read_columns(path, **columns)
    assert tokens_and_tags(corpus) == ROMANS
    assert corpus.sentences[1].document == ("newdoc" in text or "document_id" in text)
    assert [line for line in lines_with_tags(corpus, [s.tags for s in corpus]) if "#" in line] == [
        line for line in text.split("\n") if "#" in line
    ]
    words = read_columns(path, columns.get("token_column", 0), None)
    assert [sentence.tokens for sentence in words] == [("Ed", "Koch", "ran"), ("Rome",)]


def test_number_signs_and_numbers_that_are_words(write):
    for text in ("# O\nEd B-P\n\n# B-L\n", "# O\n\n# B-L\n", "Ed B-P\n# O\n"):
        assert sum("#" in sentence.tokens for sentence in read_columns(write(text))) == text.count("#")
    assert len(read_columns(write("# NN\nEd NNP\n"), tag_column=None).sentences[0].tokens) == 2
    file = write("# text = Ed ran\n1\tEd\tB-PER\n2\tran\tO\n\n1\tRome\tB-LOC\n")
    assert tokens_and_tags(read_columns(file, token_column=1))[0] == ("Ed ran", "B-PER O")
    assert len(read_columns(write("1\tO\n\n1\tB-X\n"))) == 2


def test_letters_alone_and_labels_alone(write):
    """BioBERT's files have B, I and O; those of Few-NERD have labels without letters."""
    path = write("Ed B\nKoch I\nran O\n\nRome B\n")
    assert tokens_and_tags(read_columns(path)) == [
        ("Ed Koch ran", "B-ENTITY I-ENTITY O"),
        ("Rome", "B-ENTITY"),
    ]
    assert read_columns(path, label="Disease").labels == ("Disease",)
    corpus = read_columns(write("Ed B\nvan M\nKoch E\nRome S"))
    assert (corpus.scheme, corpus.sentences[0].tags[:3]) == ("BIOES", ("B-ENTITY", "I-ENTITY", "I-ENTITY"))
    path = write("Ed person-actor\nKoch person-actor\nran O\n\nRome location-GPE\n")
    corpus = read_columns(path, scheme="plain")
    assert tokens_and_tags(corpus) == [
        ("Ed Koch ran", "B-person-actor I-person-actor O"),
        ("Rome", "B-location-GPE"),
    ]


def test_a_corpus_is_short_to_look_at(write):
    corpus = read_columns(write("Ed B-P\nKoch I-P\n\nand I-P\nB B-P\n\n" * 1000))
    assert repr(corpus) == (
        "<TaggedCorpus: 2,000 sentences, 4,000 tokens, labels P, scheme IOB2; 1,000 invalid tags repaired>"
    )
    assert corpus[0].tokens == ("Ed", "Koch") and len(corpus[:3]) == 3
    assert repr(read_columns(write("a\nb\n"), tag_column=None)) == "<TaggedCorpus: 1 sentences, 2 tokens>"
