"""The bAbI tasks: stories, questions about them, answers of one word (Weston et al., 2015)."""

import dataclasses
import re
from pathlib import Path

from keraszoo.errors import DataError
from keraszoo.text.lines import read_lines

WORD = re.compile(r"[\w'-]+")
FILE = re.compile(r"qa(\d+)_(.+)_(train|test)\.txt(?:\.gz)?")


@dataclasses.dataclass(frozen=True)
class Question:
    """A question, what was said before it, and its answer.

    Attributes:
        story: tuple of str, the sentences said before, in order.
        text: the question.
        answer: one word; several as bAbI writes them, `"milk,football"`.
        supporting: tuple of int, which sentences of the story the answer follows from, counted from 0. They
            are for looking at; nothing here learns from them.
    """

    story: tuple
    text: str
    answer: str
    supporting: tuple = ()


def split_words(text):
    """The words of a sentence in lower case, without its punctuation.

    Example:

    >>> split_words("Where is Mary? ")
    ['where', 'is', 'mary']
    """
    return WORD.findall(text.lower())


def read_questions(path):
    r"""Reads a bAbI file: numbered lines, sentences and questions, the numbers starting anew with each story.

        1 Mary moved to the bathroom.
        2 Where is Mary? <TAB> bathroom <TAB> 1

    Args:
        path: the file, plain or gzip.

    Returns:
        List of `Question`, in the order of the file.

    Raises:
        DataError: with file and line, for a line without a number or with one out of order, a question
            without an answer or words, a supporting fact that is no earlier sentence of the story, a file
            without questions; and as `read_lines` does.

    Example:

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "qa.txt")
    >>> _ = file.write_text("1 Mary went home.\n2 Where is Mary? \thome\t1\n")
    >>> read_questions(file)
    [Question(story=('Mary went home.',), text='Where is Mary?', answer='home', supporting=(0,))]
    """
    questions, story, places, last = [], [], {}, 0
    for line_number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            continue
        number, _, said = line.strip().partition(" ")
        if not number.isdecimal():
            raise DataError(f"expected a number and a sentence, got {line[:40]!r}", path, line_number)
        number = int(number)
        if number == 1:
            story, places = [], {}
        elif number != last + 1:
            raise DataError(
                f"expected the number {last + 1}, or 1 for a new story, got {number}", path, line_number
            )
        last = number
        text, *rest = (part.strip() for part in said.split("\t"))
        if not split_words(text):
            raise DataError(f"expected a sentence after the number, got {text!r}", path, line_number)
        if not rest:
            places[number] = len(story)
            story.append(text)
            continue
        if not rest[0]:
            raise DataError("expected an answer after the first tab, got none", path, line_number)
        supporting = [_place(fact, places, path, line_number) for fact in " ".join(rest[1:]).split()]
        questions.append(Question(tuple(story), text, rest[0].lower(), tuple(supporting)))
    if not questions:
        raise DataError("expected at least one question (a line with a tab), got none", path)
    return questions


def find_tasks(directory):
    """The bAbI files of a directory, by their names `qa<number>_<name>_<train or test>.txt`, plain or `.gz`.

    Args:
        directory: where they lie.

    Returns:
        Dict of number -> `(name, train, test)`, sorted by number: the name as "single supporting fact", and
        two paths.

    Raises:
        DataError: there is no such directory, no file of that form, or one of a pair is missing.
    """
    directory = Path(directory)
    if not directory.is_dir():
        raise DataError("no such directory", directory)
    files, names = {}, {}
    for path in sorted(directory.iterdir()):
        match = FILE.fullmatch(path.name)
        if match:
            number = int(match[1])
            names[number] = match[2].replace("-", " ")
            files.setdefault(number, {})[match[3]] = path
    if not files:
        raise DataError("expected files such as qa1_single-supporting-fact_train.txt, found none", directory)
    for number, found in files.items():
        missing = {"train", "test"} - set(found)
        if missing:
            raise DataError(f"task {number} has no {min(missing)} file", directory)
    return {
        number: (names[number], files[number]["train"], files[number]["test"]) for number in sorted(files)
    }


def _place(fact, places, path, line_number):
    place = places.get(int(fact)) if fact.isdecimal() else None
    if place is None:
        raise DataError(
            f"expected supporting facts to be numbers of earlier sentences, got {fact!r}", path, line_number
        )
    return place
