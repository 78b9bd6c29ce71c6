"""Streams of lines through a translator: one line in, one line out."""

import itertools
import json


def translate_lines(translator, lines, chunk=512, **options):
    """Translates lines, a chunk at a time, so that a file of any length passes through.

    Args:
        translator: anything with `translate(list of str, **options)`, such as a Translator.
        lines: an iterable of strings; a blank line is answered by an empty one and never translated.
        chunk: how many lines are read before the first of them is answered.
        **options: passed on to `translate`.

    Returns:
        An iterator of lists of strings, one list a chunk, one string a line.

    Example:

    >>> class Shouting:
    ...     def translate(self, sources):
    ...         return [source.upper() for source in sources]
    >>> list(translate_lines(Shouting(), ["a dog", " ", "a cat"], chunk=2))
    [['A DOG', ''], ['A CAT']]
    """
    for some in _chunks(lines, chunk):
        answers = iter(_of_those_with_text(translator.translate, some, options))
        # A translation is one line, whatever the model made of the source.
        yield [" ".join(next(answers).splitlines()) if line.strip() else "" for line in some]


def describe_lines(translator, lines, chunk=512, attention=False, **options):
    """Translates lines as `translate_lines`, and answers each by a JSON object.

    Args:
        translator: anything with `translate_details(list of str, **options)`.
        lines: an iterable of strings.
        chunk: how many lines are read before the first of them is answered.
        attention: with the subwords of both sides and the attention weights, target by source, of a model
            that has some.
        **options: passed on to `translate_details`.

    Returns:
        An iterator of lists of JSON texts: `source`, `text`, `log_prob` (natural log) and `hypotheses`, the
        best first; a blank line has an empty `text` and nothing else.
    """
    for some in _chunks(lines, chunk):
        answers = iter(_of_those_with_text(translator.translate_details, some, options))
        yield [
            json.dumps(
                _description(line, next(answers), attention)
                if line.strip()
                else {"source": line, "text": ""},
                ensure_ascii=False,
            )
            for line in some
        ]


def _chunks(lines, size):
    lines = iter(lines)
    while some := list(itertools.islice(lines, size)):
        yield some


def _of_those_with_text(translate, lines, options):
    sources = [line for line in lines if line.strip()]
    return translate(sources, **options) if sources else []


def _description(source, translation, attention):
    description = {
        "source": source,
        "text": translation.text,
        "log_prob": float(translation.log_prob),
        "hypotheses": [
            {"text": hypothesis.text, "log_prob": float(hypothesis.log_prob)}
            for hypothesis in translation.hypotheses
        ],
    }
    if attention:
        description["source_tokens"] = list(translation.source_tokens)
        description["tokens"] = list(translation.tokens)
        description["attention_weights"] = [
            [round(float(weight), 5) for weight in row] for row in translation.attention_weights
        ]
    return description
