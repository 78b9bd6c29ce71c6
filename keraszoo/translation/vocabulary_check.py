"""Whether a translation model and the vocabularies of a translator fit each other."""

import itertools

from keraszoo.errors import KerasZooError


def check_vocabularies(model, source, target):
    """Raises KerasZooError if `Subwords` do not fit a `TranslationModel`.

    Their sizes and padding must be those of the model. Two vocabularies cannot share one embedding, because
    an id would stand for two words.
    """
    for (side, subwords), name in itertools.product(
        (("source", source), ("target", target)), ("vocabulary_size", "pad_id")
    ):
        ours, theirs = getattr(subwords, name), getattr(model, f"{side}_{name}")
        if ours != theirs:
            raise KerasZooError(f"{side}_{name} is {ours} in the vocabulary, but {theirs} in the model")
    if source == target or source.pieces(range(len(source))) == target.pieces(range(len(target))):
        return
    for member in model.members():
        shared = getattr(member, "source_embedding", None)
        if shared is not None and shared is getattr(member, "target_embedding", None):
            tied = "tie_embeddings" in member.get_config()
            other = "tie_embeddings: target" if tied else "share_embeddings: false"
            raise KerasZooError(
                "source and target share one embedding, but have two vocabularies: "
                f"make one joint vocabulary of both, or the model with `overrides: {{{other}}}`"
            )
