"""A sentencepiece model whose pieces get the ids of a vocabulary file."""

import re

from keraszoo.errors import PresetError
from keraszoo.text.subwords import END, WORD_START

LANGUAGE = re.compile(r">>[^<>]+<<")  # a piece that names the target language
UNIGRAM = 1  # the type of models that Marian trains
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED = 1, 2, 3, 4, 5  # the types of pieces


def with_ids(model_bytes, ids, where):
    """Returns the bytes of a sentencepiece model that splits as before and gives other ids.

    Marian splits a text with one of two models, and looks each piece up in a vocabulary of both languages.
    Here the pieces of a model move to their places in that vocabulary, so the lookup is part of the model:
    every program that runs sentencepiece gives the right ids.

    * Pieces of the other language are `UNUSED`: they are never found in a text, and can be decoded.
    * Pieces without an id stay, because without them texts would be split elsewhere. They follow `END`, and
      are read as unknown.
    * A name of a language, `>>deu<<`, is a word of the text. Its score, 0, is higher than that of any other
      way to split it.
    * The decoder starts from `<pad>`, so this is also the symbol `<s>`.
    * `<unk>` is decoded to nothing.

    Args:
        model_bytes: the sentencepiece model.
        ids: dict of piece -> id, from 0 on without gaps, with `</s>`, `<unk>` and `<pad>`.
        where: the file of the model, for messages.

    Raises:
        PresetError: the bytes are not a unigram model of sentencepiece.
    """
    from google.protobuf.message import DecodeError
    from sentencepiece.sentencepiece_model_pb2 import ModelProto

    model = ModelProto()
    try:
        model.ParseFromString(model_bytes)
    except DecodeError:
        raise PresetError(f"{where}: not a sentencepiece model") from None
    if model.trainer_spec.model_type != UNIGRAM or not model.pieces:
        raise PresetError(f"{where}: expected a unigram model of sentencepiece")
    own = {one.piece: (one.score, one.type) for one in model.pieces if one.type in (NORMAL, USER_DEFINED)}
    special = {"<unk>": (0.0, UNKNOWN), "</s>": (0.0, CONTROL), "<pad>": (0.0, CONTROL)}
    del model.pieces[:]
    for piece in sorted(ids, key=ids.get):
        score, kind = special.get(piece) or own.pop(piece, (0.0, UNUSED))
        if LANGUAGE.fullmatch(piece):
            piece, score, kind = WORD_START + piece, 0.0, NORMAL
        model.pieces.add(piece=piece, score=score, type=kind)
    if own:
        model.pieces.add(piece=END, score=0.0, type=CONTROL)
    for piece, (score, kind) in own.items():
        model.pieces.add(piece=piece, score=score, type=kind)
    spec = model.trainer_spec
    spec.unk_piece, spec.eos_piece, spec.pad_piece, spec.unk_surface = "<unk>", "</s>", "<pad>", ""
    spec.bos_piece = spec.pad_piece
    return model.SerializeToString()
