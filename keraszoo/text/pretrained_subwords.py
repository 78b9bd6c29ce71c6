"""The subwords of words by a tokenizer of KerasHub, and its files."""

import itertools
import json
import re
import tempfile
import unicodedata
from pathlib import Path

from keraszoo.errors import KerasZooError, import_extra
from keraszoo.messages import one_line

TOKENIZERS = tuple(
    f"{family}Tokenizer" for family in ("Bert", "DebertaV3", "DistilBert", "Electra", "Roberta", "XLMRoberta")
)
# What a tokenizer is made of besides its files; no other argument changes the subwords of a word.
ARGUMENTS = ("lowercase", "strip_accents", "suffix_indicator", "oov_token")
FOLDER = "subwords"  # in a model directory
MOST_SUBWORDS = 100  # of a word that are read
MOST_CACHED = 1 << 18  # words
BLANK = "[\t\n\r\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"


class PretrainedSubwords:
    """Turns words into the ids of their subwords, by WordPiece, SentencePiece or byte-pair encoding.

    Each word is tokenized alone, as it stands after a blank. Before WordPiece, a word loses its control,
    format and private characters, such as the joiners of Persian and Hindi, and in uncased models its accents
    (Devlin et al. 2018). A word of which nothing is left is one unknown subword. Only the first 100 subwords
    of a word, such as a long address, are read.

    Args:
        tokenizer: of KerasHub, one of `TOKENIZERS`.
        strip_accents: whether an uncased model reads words without accents.

    Attributes:
        start_id, end_id, unknown_id: ids of its special subwords.

    Raises:
        KerasZooError: another tokenizer.
    """

    def __init__(self, tokenizer, strip_accents=True):
        if type(tokenizer).__name__ not in TOKENIZERS:
            known = ", ".join(TOKENIZERS)
            raise KerasZooError(f"expected a tokenizer of {known}, got {type(tokenizer).__name__}")
        self.kind = "words" if hasattr(tokenizer, "oov_token") else "bytes"
        self.kind = "sentencepiece" if hasattr(tokenizer, "proto") else self.kind
        self.lowercase = self.strip_accents = False
        if self.kind == "words":  # `_plain` prepares words: KerasHub's own small letters have ss for ß
            self.lowercase = tokenizer.lowercase
            self.strip_accents = tokenizer.strip_accents or self.lowercase and strip_accents
            rest = {name: getattr(tokenizer, name) for name in ("suffix_indicator", "oov_token")}
            tokenizer = type(tokenizer)(tokenizer.get_vocabulary(), **rest)
        # Words are read by the operations of an exported graph. Those of sentencepiece lose their model when
        # TensorFlow sets a random seed, as `fit` does; the library of that name gives the same subwords.
        tokenizer._allow_python_workflow = self.kind == "sentencepiece"
        vocabulary = set(tokenizer.get_vocabulary())
        unknown = next(iter(vocabulary & {"[UNK]", "<unk>"}), tokenizer.pad_token)
        self.tokenizer = tokenizer
        self.unknown_id = int(tokenizer.token_to_id(unknown))
        self.start_id, self.end_id = int(tokenizer.start_token_id), int(tokenizer.end_token_id)
        self.vocabulary_size = tokenizer.vocabulary_size()
        self._ids = {}

    def encode(self, words):
        """Turns an iterable of words into a list of their subwords' ids, a list of int for each."""
        words = list(words)
        new = [word for word in dict.fromkeys(words) if word not in self._ids]
        found = {}
        if new:
            rows = self.tokenizer([self._plain(word) for word in new])
            rows = rows.to_list() if hasattr(rows, "to_list") else rows
            for word, row in zip(new, rows, strict=True):
                ids = [int(id_) if id_ >= 0 else self.unknown_id for id_ in row[:MOST_SUBWORDS]]
                found[word] = ids or [self.unknown_id]
            if len(self._ids) < MOST_CACHED:
                self._ids.update(found)
        return [found.get(word) or self._ids[word] for word in words]

    def _plain(self, word):
        word = re.sub("[\ud800-\udfff]", "\ufffd", word)  # halves of characters are no UTF-8
        if self.kind != "words":
            return f" {word}" if self.kind == "bytes" else word
        word = unicodedata.normalize("NFD", word) if self.strip_accents else word
        word = re.sub(BLANK, " ", word).replace("\ufffd", "")
        unread = ("Cc", "Cf", "Co", "Mn") if self.strip_accents else ("Cc", "Cf", "Co")
        word = "".join(one for one in word if unicodedata.category(one) not in unread)
        return "".join(map(str.lower, word)) if self.lowercase else word  # each character for itself

    def _plain_in_graph(self, words):
        import tensorflow as tf
        import tensorflow_text as tf_text

        if self.kind != "words":
            return words
        words = tf_text.normalize_utf8(words, "NFD") if self.strip_accents else words
        words = tf.strings.regex_replace(words, BLANK, " ")
        unread = r"\p{Cc}\p{Cf}\p{Co}\x{fffd}" + r"\p{Mn}" * self.strip_accents
        letters = tf.strings.unicode_split(tf.strings.regex_replace(words, f"[{unread}]", ""), "UTF-8")
        if self.lowercase:
            letters = letters.with_flat_values(tf.strings.lower(letters.flat_values, encoding="utf-8"))
        return tf.strings.reduce_join(letters, axis=-1)

    def check_graph(self):
        """Raises KerasZooError if the tokenizer cannot be part of a SavedModel."""
        if self.kind == "bytes":
            raise KerasZooError(
                "byte-pair encoding cannot be part of a SavedModel; export with format='onnx'"
            )

    def in_graph(self, words):
        """The same in a graph of TensorFlow: int32, ragged `(N, S)`, of strings `(N,)`."""
        import tensorflow as tf

        ids = self.tokenizer(self._plain_in_graph(words))[:, :MOST_SUBWORDS]
        empty = tf.where(ids.row_lengths() == 0, self.unknown_id, tf.zeros_like(ids.row_lengths(), tf.int32))
        missing = tf.RaggedTensor.from_tensor(empty[:, None], tf.cast(ids.row_lengths() == 0, tf.int64))
        return tf.concat([tf.cast(ids, tf.int32), missing], axis=1)

    def features(self, sentences):
        """The subwords of sentences, and the places of their words, as lists of lists of int.

        `"subwords"` are the tokenizer's ids plus 1, `"words"` the places of first subwords in them, from 1.
        """
        ids = iter(self.encode(itertools.chain.from_iterable(sentences)))
        rows = [[next(ids) for _ in words] for words in sentences]
        places = [list(itertools.accumulate(map(len, row), initial=1))[:-1] for row in rows]
        return {"words": places, "subwords": [[id_ + 1 for word in row for id_ in word] for row in rows]}

    # --- files

    def config(self):
        """The entry of `config.json`, a dict: the class of the tokenizer and its arguments."""
        given = {name: getattr(self.tokenizer, name, None) for name in ARGUMENTS}
        if self.kind == "words":
            given |= {"lowercase": self.lowercase, "strip_accents": self.strip_accents}
        given = {name: value for name, value in given.items() if value is not None}
        return {"class": type(self.tokenizer).__name__, **given}

    def files(self):
        """The files of a model directory: dict of name -> bytes."""
        with tempfile.TemporaryDirectory() as folder:
            self.tokenizer.save_assets(folder)
            return {f"{FOLDER}/{file.name}": file.read_bytes() for file in sorted(Path(folder).iterdir())}

    @classmethod
    def from_files(cls, config, folder):
        """Reads what `config` and `files` returned, from the folder of the files.

        Raises KerasZooError: another class of tokenizer, other arguments, or files that it cannot read.
        """
        arguments = dict(config)
        kind = arguments.pop("class", None)
        if kind not in TOKENIZERS:
            raise KerasZooError(f"subwords: expected a tokenizer of {', '.join(TOKENIZERS)}, got {kind!r}")
        if unknown := arguments.keys() - set(ARGUMENTS):  # such as a path of this machine
            raise KerasZooError(f"subwords: {kind} has no argument {min(unknown)!r} in a model directory")
        made = getattr(import_extra("keras_hub", "hub").tokenizers, kind)
        proto = Path(folder) / "vocabulary.spm"
        try:
            if proto.exists():
                return cls(made(proto.read_bytes(), **arguments))
            tokenizer = made(vocabulary=None, **arguments)
            tokenizer.load_assets(str(folder))
            return cls(tokenizer, arguments.get("strip_accents", True))
        except Exception as error:  # any error of KerasHub or of its libraries
            raise KerasZooError(f"{folder}: {kind} cannot read it: {one_line(str(error)):.300}") from error

    def __str__(self):
        files = {name: content.hex() for name, content in self.files().items()}
        return json.dumps([self.config(), files], sort_keys=True)

    def __eq__(self, other):
        return isinstance(other, PretrainedSubwords) and str(self) == str(other)
