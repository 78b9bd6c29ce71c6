"""Models with several target languages: a text begins with the name of one, as in `>>deu<< Good morning.`"""

import re
import warnings

from keraszoo.errors import KerasZooError, NoTargetLanguage
from keraszoo.messages import suggestion
from keraszoo.text.subwords import WORD_START

NAME = re.compile(r"\s*>>([^<>]*)<<\s*")


def target_languages(subwords):
    """The sorted names of target languages that a source vocabulary has pieces for."""
    pieces = (piece.removeprefix(WORD_START) for piece in subwords.pieces(range(len(subwords))))
    return sorted(match[1] for piece in pieces if (match := NAME.fullmatch(piece)))


def in_language(texts, language, known):
    """Texts that begin with the names of their target languages.

    Args:
        texts: list of str. A name that a text begins with has priority over `language`.
        language: the name for the other texts, or `None`: they get none, with a `NoTargetLanguage` warning.
        known: the names that there are; with none of them, texts stay as they are.

    Raises:
        KerasZooError: an unknown name.
    """
    if language is not None and language not in known:
        hint = suggestion(language, known) if known else "; the model has one target language"
        raise KerasZooError(f"target_language: there is no {language!r}{hint}")
    return [_named(i, text, language, known) for i, text in enumerate(texts, 1)] if known else texts


def _named(number, text, language, known):
    match = NAME.match(text)
    if match and match[1] not in known:
        raise KerasZooError(
            f"text {number} has the target language {match[1]!r}{suggestion(match[1], known)}"
        )
    if match:
        return f">>{match[1]}<< {text[match.end() :]}"
    if language is None and text.strip():
        some = ", ".join(known[:5]) + (", ..." if len(known) > 5 else "")
        warnings.warn(
            f"text {number} names no target language, so the model may write any; target_language is one of "
            f"{some}: {text.strip()[:40]!r}",
            NoTargetLanguage,
            stacklevel=5,
        )
    return text if language is None or not text.strip() else f">>{language}<< {text}"
