"""A tagger as a directory: what `save_to_preset` writes and `from_preset` reads.

    config.json  words.txt  model.weights.h5  metrics.json  README.md  manifest.json

The word vectors are among the weights. What the tag scheme permits follows from the tags, and is not stored.
"""

from keraszoo import models
from keraszoo.errors import KerasZooError, PresetError
from keraszoo.saving.model_config import make_model
from keraszoo.tagging.recipe import TAGGING_MODELS
from keraszoo.tasks import directory as task_directory
from keraszoo.text.tagging_features import TaggingVocabulary

TASK = "tagging"
WORDS = "words.txt"


def write(tagger, directory, dtype=None):
    """Writes `config.json`, vocabulary, weights, figures and a card; see `model_directory.write_directory`.

    Args:
        tagger: an `EntityTagger`.
        directory: where to.
        dtype: of the stored weights, see `save_weights`; it stands in `config.json` too.
    """
    model, vocabulary = tagger.model, tagger.vocabulary
    task_directory.write(
        TASK,
        tagger,
        directory,
        _about(tagger),
        {"vocabulary": {key: value for key, value in vocabulary.as_dict().items() if key != "words"}},
        {WORDS: _one_a_line(vocabulary.words)},
        dtype,
        {"constrained": model.chain is not None and model.chain.allowed is not None},
    )


def read(cls, name):
    """A tagger of class `cls` from a directory or the name of a shipped one."""
    directory = task_directory.find(name, TASK)
    config = directory.config
    kinds = {kind: getattr(models, kind) for kind in TAGGING_MODELS.values()}
    try:
        words = directory.read_bytes(WORDS).decode("utf-8").split("\n")[:-1]
        vocabulary = TaggingVocabulary.from_dict({**config["vocabulary"], "words": words})
        extra = {"allowed": vocabulary.transitions() if config["model"]["constrained"] else None}
        tagger = cls(make_model(directory, kinds, extra=extra), vocabulary)
    except PresetError:
        raise
    except (KerasZooError, KeyError, TypeError, ValueError, AttributeError) as error:
        said = f"{directory.path}: config.json is not one of a tagger: {error}"
        raise PresetError(" ".join(said.split())) from error
    return task_directory.filled(tagger, directory)


def _one_a_line(words):
    for word in words:
        if "\n" in word:
            raise PresetError(f"{WORDS}: a word has a line end in it: {word!r}")
    return "".join(f"{word}\n" for word in words)


def _about(tagger):
    """What the program knows of it; see `keraszoo.saving.model_facts`."""
    parameters = tagger.model.count_params()
    return {
        "title": f"{type(tagger.model).__name__}, {parameters:,} parameters",
        "pipeline_tag": "token-classification",
        "summary": f"It finds {', '.join(tagger.vocabulary.labels)}. "
        f"Vectors of {len(tagger.vocabulary.words):,} words.",
        "example": [
            "from keraszoo import EntityTagger",
            'EntityTagger.from_preset("this directory").tag("...")',
        ],
        "parameters": parameters,
    }
