"""The errors that keraszoo raises for bad input.

Each message states what is wrong, where, what was expected and what was received. The command line prints it
as one line and exits with status 2.
"""

import importlib
import numbers


class KerasZooError(ValueError):
    """Bad input; the base class of all errors of tasks, files, recipes and the command line.

    Layers and models raise a plain ValueError, as those of Keras do.
    """


class DataError(KerasZooError):
    """A corpus, a vocabulary or a file of vectors cannot be read or written.

    Args:
        message: what is wrong, what was expected and what was received.
        path: the file, if there is one; `"-"` is shown as `<stdin>`.
        line: the line in it, counted from 1, if there is one.
    """

    def __init__(self, message, path=None, line=None):
        path = "<stdin>" if str(path) == "-" else path
        where = "" if path is None else f"{path}: " if line is None else f"{path}:{line}: "
        super().__init__(f"{where}{message}")
        self.path = path
        self.line = line


class VocabularySizeError(KerasZooError):
    """A vocabulary is too large or too small for the text that it is learned from.

    Args:
        message: what is wrong.
        least: the smallest size that is possible, if the vocabulary is too small.
        largest: the largest size that is possible, if it is too large.
    """

    def __init__(self, message, least=None, largest=None):
        super().__init__(message)
        self.least, self.largest = least, largest


class RecipeError(KerasZooError):
    """A recipe has an unknown or missing key, or a value of the wrong type or range."""


class PresetError(KerasZooError):
    """A model directory is missing, incomplete, damaged or not one of keraszoo."""


class ScoreError(KerasZooError):
    """Hypotheses and references cannot be scored against each other."""


class InputWarning(UserWarning):
    """An input that a model cannot read as a whole. The command line prints the first of each kind."""


class UnknownCharacters(InputWarning):
    """A text has characters that the vocabulary does not have."""


class SeveralSentences(InputWarning):
    """A text looks like several sentences, and the model translates one."""


class NoTargetLanguage(InputWarning):
    """A text names no target language, and the model has several."""


class NoWords(InputWarning):
    """A text has no letter and no digit, and the model may still translate it as a word."""


class LostAddresses(InputWarning):
    """A text has a web or mail address that its translation does not have."""


def check_texts(texts, name="texts", error=KerasZooError):
    """Raises an error of this class, naming the argument or the item, unless `texts` is a list of str."""
    several = hasattr(texts, "__len__") and len(getattr(texts, "shape", (0,))) == 1  # no scalar array
    if isinstance(texts, (str, bytes, dict, set, frozenset)) or not several:
        raise error(f"{name}: expected a list of str, got a {type(texts).__name__}, {texts!r:.40}")
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            hint = "" if not hasattr(text, "numpy") else "; decode: [text.decode() for text in texts.numpy()]"
            raise error(f"{name}[{i}]: expected a str, got {type(text).__name__}, {text!r:.40}{hint}")


def checked_sentences(sentences):
    """Returns a list of sentences of words; raises KerasZooError, naming the sentence, for anything else."""
    if not hasattr(sentences, "__len__"):
        raise KerasZooError(f"expected a list of sentences, got a {type(sentences).__name__}")
    for i, tokens in enumerate(sentences):
        if (
            isinstance(tokens, str)
            or not hasattr(tokens, "__len__")
            or not all(isinstance(token, str) for token in tokens)
        ):
            raise KerasZooError(f"sentence {i}: expected a list of str, its words, got {tokens!r:.60}")
    return list(sentences)


def plain_number(value):
    """Returns a number of NumPy as one of Python, and everything else as it is."""
    return value.item() if hasattr(value, "item") else value


def check_at_least(error=KerasZooError, /, **values):
    """Raises an error of this class for the first (value, minimum) whose value is smaller, or not a number.

    If the minimum is an int, the value must be an integer, too.
    """
    for name, (value, least) in values.items():
        kind = numbers.Integral if isinstance(least, int) else numbers.Real
        if not isinstance(value, kind) or not value >= least:
            real = isinstance(value, numbers.Real) and not isinstance(value, kind)
            wrong = ", not an integer" if real else ""
            raise error(f"{name} must be at least {least:g}, got {value!r:.60}{wrong}")


def import_extra(module, extra):
    """Returns a module that an extra of this package has. Raises KerasZooError if it cannot be imported."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise KerasZooError(f"{module} is needed: pip install 'keraszoo[{extra}]' ({error})") from None
