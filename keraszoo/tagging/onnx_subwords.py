"""A tokenizer of KerasHub as files that the libraries `tokenizers` and `sentencepiece` read."""

from keraszoo.text.pretrained_subwords import MOST_SUBWORDS

MOST_BYTES = 100  # of a piece that KerasHub splits by WordPiece; a longer one is unknown


def files(subwords):
    """The files of an ONNX export for a `PretrainedSubwords`: dict of name -> bytes."""
    if subwords.kind == "sentencepiece":
        return {"subwords.spm": subwords.tokenizer.proto}
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    tokenizer = subwords.tokenizer
    if subwords.kind == "words":
        ids = {word: i for i, word in enumerate(tokenizer.get_vocabulary())}
        options = {"unk_token": tokenizer.oov_token, "continuing_subword_prefix": tokenizer.suffix_indicator}
        made = Tokenizer(models.WordPiece(ids, max_input_chars_per_word=MOST_BYTES, **options))
        keep = dict.fromkeys(("clean_text", "strip_accents", "lowercase"), False)  # done by the program
        made.normalizer = normalizers.BertNormalizer(handle_chinese_chars=True, **keep)
        made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    else:
        merges = [tuple(merge.split(" ")) for merge in tokenizer.merges if "#version" not in merge]
        made = Tokenizer(
            models.BPE(tokenizer.vocabulary, merges, unk_token=tokenizer.id_to_token(subwords.unknown_id))
        )
        made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return {"subwords.json": made.to_str().encode()}


def entry(subwords):
    """The entry of `tokens.json` that says how the program turns words into ids."""
    shift, as_unknown = 0, []
    if type(subwords.tokenizer).__name__ == "XLMRobertaTokenizer":
        shift, as_unknown = 1, [1]  # it has one special subword more in front
    return {
        "library": "sentencepiece" if subwords.kind == "sentencepiece" else "tokenizers",
        "before": " " if subwords.kind == "bytes" else "",
        "lowercase": subwords.lowercase,
        "strip_accents": subwords.strip_accents,
        "most_bytes": MOST_BYTES if subwords.kind == "words" else 1 << 31,
        "most": MOST_SUBWORDS,
        "unknown": subwords.unknown_id,
        "shift": shift,
        "as_unknown": as_unknown,
    }
