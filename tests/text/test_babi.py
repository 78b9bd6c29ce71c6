"""bAbI files: what is read, and what is said of files that are wrong."""

import gzip

import pytest

from keraszoo.errors import DataError
from keraszoo.text.babi import Question, read_questions, split_words

TWO_STORIES = """\
1 Mary moved to the bathroom.
2 John went to the hallway.
3 Where is Mary? \tbathroom\t1
4 Daniel got the milk.
5 What is where? \tMilk,Football\t4 2
1 Sandra slept.
2 Who slept?\tsandra
"""


def test_two_stories(write):
    first, second, third = read_questions(write(TWO_STORIES))
    said = ("Mary moved to the bathroom.", "John went to the hallway.")
    assert first == Question(said, "Where is Mary?", "bathroom", (0,))
    # line 4 is the third sentence: questions take numbers, but are not said
    assert second == Question((*said, "Daniel got the milk."), "What is where?", "milk,football", (2, 1))
    assert third == Question(("Sandra slept.",), "Who slept?", "sandra", ())


def test_gzip_blank_lines_and_windows_line_ends(write):
    text = TWO_STORIES.replace("\n", "\r\n").replace("1 Sandra", "\r\n1 Sandra") + "\r\n"
    path = write(gzip.compress(text.encode()), "qa.txt.gz")
    assert read_questions(path) == read_questions(write(TWO_STORIES))


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("Mary moved.\n", 1, "expected a number and a sentence, got 'Mary moved.'"),
        ("2 Mary moved.\n", 1, "expected the number 1, or 1 for a new story, got 2"),
        ("1 Mary moved.\n2 Where?\t\t1\n", 2, "expected an answer after the first tab, got none"),
        ("1 ...\n", 1, "expected a sentence after the number, got '...'"),
        ("1 Mary moved.\n2 Where?\tthere\t2\n", 2, "numbers of earlier sentences, got '2'"),
        ("1 A a.\n2 B?\tb\t1\n3 C?\tc\t2\n", 3, "numbers of earlier sentences, got '2'"),
        ("1 Mary moved.\n2 John slept.\n", None, "expected at least one question"),
    ],
)
def test_files_that_are_wrong(write, text, line, said):
    path = write(text)
    with pytest.raises(DataError, match=said) as error:
        read_questions(path)
    assert str(error.value).startswith(f"{path}:{line}: " if line else f"{path}: ")
    assert error.value.line == line


def test_words():
    assert split_words("  What's John's top-hat (no. 2)? ") == ["what's", "john's", "top-hat", "no", "2"]
    assert split_words("?!") == []
    assert split_words("हिन्दी में") == ["हिन्दी", "में"]
    assert split_words("cafe\u0301") == split_words("caf\xe9")
