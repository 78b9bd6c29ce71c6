"""Reads the bAbI tasks: stories, questions about them, answers of one word (Weston et al., 2015)."""

import dataclasses
import re
import unicodedata

from keraszoo.errors import DataError
from keraszoo.text.characters import inside
from keraszoo.text.lines import located, read_lines

WORD = re.compile(f"[{inside('L M N', '_')}'-]+")  # with the marks of letters, such as Hindi vowels


@dataclasses.dataclass(frozen=True)
class Question:
    """A question, the story before it (a tuple of sentences), and its answer.

    The answer is one word; bAbI writes several as `"milk,football"`. `supporting` are the sentences of
    the story that it follows from, counted from 0; they are shown to users, and no model reads them.
    """

    story: tuple
    text: str
    answer: str
    supporting: tuple = ()


def split_words(text):
    """Returns the words of a sentence in lower case, without punctuation.

    >>> split_words("Where is Mary? ")
    ['where', 'is', 'mary']
    """
    return WORD.findall(unicodedata.normalize("NFC", text.lower()))


def read_questions(path):
    r"""Reads a bAbI file: numbered sentences and questions. Number 1 starts a new story.

        1 Mary moved to the bathroom.
        2 Where is Mary? <TAB> bathroom <TAB> 1

    Returns:
        List of `Question`, in the order of the file.

    Raises:
        DataError: with file and line: a line without a number or with one out of order, a question without
            an answer or without words, a supporting fact that is not an earlier sentence of the story; a
            file without questions; and as `read_lines` does.

    Example:

    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp(), "qa.txt")
    >>> _ = file.write_text("1 Mary went home.\n2 Where is Mary? \thome\t1\n")
    >>> read_questions(file)
    [Question(story=('Mary went home.',), text='Where is Mary?', answer='home', supporting=(0,))]
    """
    questions, story, last = [], {}, 0  # the sentences of the story by their numbers
    for line_number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            continue
        with located(path, line_number):
            number, text, *answer = _parse(line)
            if number == 1:
                story = {}
            elif number != last + 1:
                raise DataError(f"expected the number {last + 1}, or 1 for a new story, got {number}")
            if answer:
                questions.append(_question(text, answer, story))
            else:
                story[number] = text
        last = number
    if not questions:
        raise DataError("expected at least one question (a line with a tab), got none", path)
    return questions


def _parse(line):
    """Returns the number and the text of a line, and for a question its answer and supporting facts."""
    number, _, rest = line.strip().partition(" ")
    if not number.isdecimal() or len(number) > 9:
        raise DataError(f"expected a number and a sentence, got {line[:40]!r}")
    text, *answer = (part.strip() for part in rest.split("\t"))
    if not split_words(text):
        raise DataError(f"expected a sentence after the number, got {text!r:.60}")
    if answer and not answer[0]:
        raise DataError("expected an answer after the first tab, got none")
    return int(number), text, *answer


def _question(text, answer, story):
    """Makes a `Question` of its parts; `story` maps numbers of lines to sentences."""
    places = {str(number): place for place, number in enumerate(story)}
    facts = " ".join(answer[1:]).split()
    for fact in facts:
        if fact not in places:
            raise DataError(f"expected supporting facts to be numbers of earlier sentences, got {fact!r:.60}")
    supporting = tuple(places[fact] for fact in facts)
    return Question(tuple(story.values()), text, answer[0].lower(), supporting)
