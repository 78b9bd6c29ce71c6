"""The one family of errors that bad input raises.

Every message says what is wrong, where, what was expected and what came. The command line prints it as one
line and exits with status 2.
"""


class KerasZooError(ValueError):
    """Bad input of any kind; the base of all errors that keraszoo raises on purpose."""


class DataError(KerasZooError):
    """A corpus, a vocabulary or a vector file that cannot be read as what it should be.

    Args:
        message: what is wrong, what was expected and what came.
        path: the file, if there is one.
        line: the line in it, counted from 1, if there is one.
    """

    def __init__(self, message, path=None, line=None):
        where = "" if path is None else f"{path}: " if line is None else f"{path}:{line}: "
        super().__init__(f"{where}{message}")
        self.path = path
        self.line = line


class RecipeError(KerasZooError):
    """A recipe with an unknown key, a missing one, or a value of the wrong type or range."""


class PresetError(KerasZooError):
    """A model directory that is missing, incomplete, damaged or not one of ours."""


class ScoreError(KerasZooError):
    """Hypotheses and references that cannot be scored against each other."""
