"""Subwords: text to ids and back by a sentencepiece model."""

import io
import pathlib
import random
import re

from keraszoo.errors import DataError, KerasZooError
from keraszoo.saving.whole_file import whole_file

HOW_TO_TRAIN = (
    "train one with `Subwords.train`, or with spm_train --pad_id=0 --unk_id=1 --bos_id=2 --eos_id=3"
)

SYMBOL = re.compile(rb"<(?=(pad|unk|/?s)>)")


class Subwords:
    """A vocabulary of subwords: a sentencepiece model of the kind `bpe` or `unigram`.

    The model is a string of bytes (sentencepiece's own `.model` file), and everything is read from it: two
    `Subwords` are equal if their bytes are. Text is normalised by the rule inside the model; the models
    trained here use sentencepiece's `nmt_nfkc`: NFKC, control characters dropped, every kind of blank turned
    into one space, none at the ends. `decode(encode(x)) == x` for text that is so normalised and has no
    character unknown to the model.

    The ids of `<pad>`, `<s>` and `</s>` never come out of text: the characters `<s>` in a sentence are three
    ordinary characters.

    Args:
        model_bytes: the model, as `model_bytes` of another or as a file made by sentencepiece holds it. It
            must have all of pad, `<s>`, `</s>` and unknown, under any numbers.

    Raises:
        DataError: bytes that are not a sentencepiece model, or a model that lacks one of the four.

    Example:

    >>> subwords = Subwords.train(["low lower lowest", "new newer newest"] * 5, vocabulary_size=22)
    >>> subwords.vocabulary_size
    22
    >>> ids = subwords.encode(["lower newest", ""])
    >>> subwords.decode(ids)
    ['lower newest', '']

    Reference:
        Kudo and Richardson 2018, SentencePiece, https://aclanthology.org/D18-2012;
        Sennrich et al. 2016 (BPE), https://aclanthology.org/P16-1162; Kudo 2018 (unigram),
        https://aclanthology.org/P18-1007.
    """

    def __init__(self, model_bytes):
        self.model_bytes = bytes(model_bytes)
        self._processor = _processor(self.model_bytes)
        self.vocabulary_size = self._processor.vocab_size()
        self.pad_id = self._processor.pad_id()
        self.start_id = self._processor.bos_id()
        self.end_id = self._processor.eos_id()
        self.unknown_id = self._processor.unk_id()
        ids = {"pad": self.pad_id, "<s>": self.start_id, "</s>": self.end_id, "<unk>": self.unknown_id}
        missing = [name for name, id_ in ids.items() if id_ < 0]
        if missing:
            raise DataError(
                f"the sentencepiece model has no {' and no '.join(missing)} symbol; {HOW_TO_TRAIN}"
            )

    @classmethod
    def train(
        cls,
        sentences,
        vocabulary_size=8000,
        model_type="bpe",
        character_coverage=1.0,
        max_sentences=5_000_000,
        seed=0,
        threads=2,
    ):
        """Learns a vocabulary from sentences; nothing touches the disk.

        For a joint vocabulary of two languages give it the sentences of both, one after the other. The ids
        are pad 0, unknown 1, `<s>` 2, `</s>` 3. The same sentences and arguments give the same bytes.

        Args:
            sentences: any iterable of strings, read once. Blank ones are skipped, and, as in sentencepiece,
                those above 4,192 bytes.
            vocabulary_size: the number of ids in all, with the four special ones and the single characters.
            model_type: `"bpe"` or `"unigram"`.
            character_coverage: the share of the running characters that get an id; the rarest of the rest are
                unknown. 1.0 keeps every character.
            max_sentences: of more sentences than this, a random sample of this size is used; they are in
                memory meanwhile.
            seed: of that sample.
            threads: how many threads sentencepiece may use.

        Returns:
            A `Subwords`.

        Raises:
            DataError: no text at all, or text that is no valid Unicode.
            KerasZooError: a vocabulary too large or too small for the sentences (the message names the
                limit), or an unknown `model_type`. An error that `sentences` raises itself comes through as
                it is.
        """
        import sentencepiece

        if model_type not in ("bpe", "unigram"):
            raise KerasZooError(f'model_type must be "bpe" or "unigram", got {model_type!r}')
        if not 0 < character_coverage <= 1:
            raise KerasZooError(
                f"character_coverage must lie above 0 and at most 1, got {character_coverage}"
            )
        if vocabulary_size < 6:
            raise KerasZooError(
                f"vocabulary_size must be at least 6 (four are special), got {vocabulary_size}"
            )
        sample = _sample(sentences, max_sentences, seed)
        model = io.BytesIO()
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(sample),
                model_writer=model,
                vocab_size=vocabulary_size,
                model_type=model_type,
                character_coverage=character_coverage,
                num_threads=threads,
                pad_id=0,
                unk_id=1,
                bos_id=2,
                eos_id=3,
                minloglevel=2,
            )
        except (RuntimeError, ValueError, OSError) as error:
            raise _training_error(str(error), len(sample), vocabulary_size) from None
        return cls(model.getvalue())

    @classmethod
    def load(cls, path):
        """Reads a model file, as `save` or sentencepiece writes it.

        Raises:
            DataError: no such file, not a sentencepiece model, or one without the four special symbols; the
                message names the file.
        """
        try:
            return cls(pathlib.Path(path).read_bytes())
        except OSError as error:
            raise DataError(f"cannot read the sentencepiece model: {error.strerror}", path) from None
        except DataError as error:
            raise DataError(str(error), path) from None

    def save(self, path):
        """Writes the model file, all of it or nothing: see `whole_file`."""
        with whole_file(path) as file:
            file.write(self.model_bytes)

    def encode(self, texts, threads=2):
        """Turns texts into ids, without `<s>` and `</s>`.

        Args:
            texts: a list of strings. A blank one gives no ids.
            threads: how many threads to use.

        Returns:
            A list of lists of ids in `[0, vocabulary_size)`, one for each text.

        Raises:
            DataError: something that is not a list of strings, or text that is no valid Unicode.
        """
        if isinstance(texts, (str, bytes)):
            raise DataError(f"encode takes a list of strings, got one {type(texts).__name__}")
        texts = list(texts)
        try:
            return self._processor.encode(texts, num_threads=threads)
        except (TypeError, RuntimeError):
            for number, text in enumerate(texts):
                _utf8(text, f"text {number}")
            raise

    def decode(self, ids):
        """Turns lists of ids into texts. `<pad>`, `<s>` and `</s>` give nothing, unknown gives ` ⁇ `.

        Args:
            ids: a list of lists (or arrays) of ids.

        Returns:
            A list of strings, one for each list of ids.

        Raises:
            DataError: an id outside `[0, vocabulary_size)`.
        """
        rows = [[int(id_) for id_ in row] for row in ids]
        if not rows:
            return []
        try:
            return self._processor.decode(rows)
        except IndexError:
            self._check(id_ for row in rows for id_ in row)
            raise

    def pieces(self, ids):
        """The subwords of one list of ids as strings; `▁` stands for the space before a word.

        Raises:
            DataError: an id outside `[0, vocabulary_size)`.
        """
        ids = [int(id_) for id_ in ids]
        self._check(ids)
        return [self._processor.id_to_piece(id_) for id_ in ids]

    def _check(self, ids):
        for id_ in ids:
            if not 0 <= id_ < self.vocabulary_size:
                raise DataError(f"id {id_} is outside the vocabulary of {self.vocabulary_size}")

    def __len__(self):
        return self.vocabulary_size

    def __eq__(self, other):
        return isinstance(other, Subwords) and self.model_bytes == other.model_bytes

    def __hash__(self):
        return hash(self.model_bytes)

    def __repr__(self):
        return f"<Subwords: {self.vocabulary_size} pieces>"


def _sample(sentences, size, seed):
    """At most `size` of the sentences that are not blank, as bytes, each with the same chance.

    sentencepiece can sample too, but draws otherwise in every process.
    """
    draw = random.Random(seed)
    sample = []
    count = 0
    for number, sentence in enumerate(sentences):
        data = _utf8(sentence, f"sentence {number}")
        if not data.strip():
            continue
        # sentencepiece cuts the names of its symbols out of what it learns from; a blank keeps it from that,
        # so that their characters are learnt as any others.
        data = SYMBOL.sub(b"< ", data) if b"<" in data else data
        count += 1
        if len(sample) < size:
            sample.append(data)
        elif (place := draw.randrange(count)) < size:
            sample[place] = data
    return sample


def _utf8(text, what):
    if not isinstance(text, str):
        raise DataError(f"{what} must be a string, got {type(text).__name__}")
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise DataError(f"{what} is not valid Unicode: a lone surrogate at character {error.start}") from None


def _processor(model_bytes):
    import sentencepiece

    if model_bytes:
        try:
            return sentencepiece.SentencePieceProcessor(model_proto=model_bytes)
        except RuntimeError:
            pass
    raise DataError(f"not a sentencepiece model ({len(model_bytes)} bytes); {HOW_TO_TRAIN}")


def _training_error(message, count, vocabulary_size):
    if count == 0 or "all_chars_count" in message or "sentences_.empty()" in message:
        return DataError(
            f"no text to learn subwords from: {count} sentences, none with text of at most 4,192 bytes"
        )
    if found := re.search(r"set it to a value <= (\d+)", message):
        return KerasZooError(
            f"vocabulary_size {vocabulary_size} is too large for {count} sentences; the largest is {found[1]}"
        )
    if found := re.search(r"required_chars\. \d+ vs (\d+)", message):
        return KerasZooError(
            f"vocabulary_size {vocabulary_size} is too small: the text has {int(found[1]) - 4} different "
            f"characters, with the special symbols {found[1]}; take more, or a character_coverage below 1"
        )
    return KerasZooError(f"sentencepiece cannot learn a vocabulary of {vocabulary_size}: {message}")
