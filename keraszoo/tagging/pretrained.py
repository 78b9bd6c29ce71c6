"""Reads the encoder of a tagger: of another tagger, or of what KerasHub reads."""

from pathlib import Path

from safetensors import SafetensorError

from keraszoo.errors import KerasZooError, RecipeError, import_extra
from keraszoo.messages import one_line
from keraszoo.models.pretrained_words import without_pooler
from keraszoo.saving.model_directory import MANIFEST
from keraszoo.shipping import shipped
from keraszoo.tasks.transfer import check_not_quantized
from keraszoo.text.pretrained_subwords import PretrainedSubwords

OF_KERAS = ("name", "trainable", "dtype")  # arguments of a backbone that change none of its numbers


def read_encoder(place, cls):
    """Reads an encoder: a functional model, its configuration as a dict, and its `PretrainedSubwords`.

    `place` is that of a tagger over a pretrained encoder, or what `from_preset` of KerasHub reads. Raises
    RecipeError if it cannot be read.
    """
    where = f"model.backbone: {place}"
    if "://" not in place and ((Path(place) / MANIFEST).is_file() or place in shipped.places()):
        tagger = cls.from_preset(place, all_corpora=True)
        if tagger.vocabulary.subwords is None:
            raise RecipeError(f"{where}: expected a tagger over a pretrained encoder, got another one")
        check_not_quantized(tagger.model._flatten_layers(), where)
        return tagger.model.words.backbone, tagger.model.get_config()["backbone"], tagger.vocabulary.subwords
    hub = import_extra("keras_hub", "hub")
    from keras_hub.src.utils.preset_utils import check_file_exists, load_json  # know all kinds of places

    try:
        whole = hub.models.Backbone.from_preset(place)
        tokenizer = hub.tokenizers.Tokenizer.from_preset(place)
        settings = "tokenizer_config.json"  # of Hugging Face, whose uncased models may keep accents
        given = load_json(place, settings) if check_file_exists(place, settings) else {}
        subwords = PretrainedSubwords(tokenizer, given.get("strip_accents") is not False)
        published = load_json(place)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, SafetensorError) as error:
        if isinstance(error, KerasZooError):
            raise RecipeError(f"{where}: {error}") from error
        raise RecipeError(f"{where}: KerasHub cannot read it: {one_line(str(error)):.300}") from error
    exact = "gelu" in (published.get("hidden_act"), published.get("activation"))
    config = {key: value for key, value in whole.get_config().items() if key not in OF_KERAS}
    config = {"class": type(whole).__name__, **config, **({"exact_gelu": True} if exact else {})}
    return without_pooler(whole, exact), config, subwords
