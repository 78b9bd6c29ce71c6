"""Learns vocabularies of subwords from text."""

import io
import random
import re

from keraszoo.errors import DataError, KerasZooError, VocabularySizeError
from keraszoo.text.normalization import RULES, nfc_rules, normalizer, with_rules

SPECIAL = {"pad_id": 0, "unk_id": 1, "bos_id": 2, "eos_id": 3}  # ids in the models trained here
SYMBOL = re.compile(rb"<(?=(pad|unk|/?s)>)")
MARK_OF_UNKNOWN = "\u2585".encode()  # sentencepiece leaves out sentences with it
THREADS = 2


def train(sentences, vocabulary_size, model_type, character_coverage, normalization, max_sentences, seed):
    """Returns the bytes of a sentencepiece model; see `Subwords.train`."""
    import sentencepiece

    if model_type not in ("bpe", "unigram"):
        raise KerasZooError(f'model_type must be "bpe" or "unigram", got {model_type!r}')
    if normalization not in RULES:
        raise KerasZooError(f"normalization must be one of {', '.join(RULES)}, got {normalization!r}")
    if not 0.98 <= character_coverage <= 1:  # the limits of sentencepiece
        raise KerasZooError(f"character_coverage must be from 0.98 to 1, got {character_coverage}")
    if vocabulary_size < 6:
        raise KerasZooError(f"vocabulary_size must be at least 6 (four are special), got {vocabulary_size}")
    sample = _sample(sentences, max_sentences, seed)
    own = normalization == "nfc"  # sentencepiece has no rules of this name
    plain = {"add_dummy_prefix": False, "escape_whitespaces": False}
    normalized = map(normalizer(norm_map=nfc_rules(), **plain).normalize, sample) if own else iter(sample)
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=normalized,
            model_writer=model,
            vocab_size=vocabulary_size,
            model_type=model_type,
            character_coverage=character_coverage,
            normalization_rule_name="identity" if own else normalization,
            num_threads=THREADS,
            minloglevel=2,
            **SPECIAL,
        )
    except (RuntimeError, ValueError, OSError) as error:
        raise _training_error(str(error), len(sample), vocabulary_size) from None
    return with_rules(model.getvalue(), nfc_rules()) if own else model.getvalue()


def _sample(sentences, size, seed):
    """Draws at most `size` sentences that are not blank, as bytes, all with the same probability.

    sentencepiece can sample as well, but its samples differ between processes.
    """
    if isinstance(sentences, (str, bytes)):
        raise DataError(f"expected an iterable of sentences, got one {type(sentences).__name__}")
    draw = random.Random(seed)
    sample = []
    count = 0
    for number, sentence in enumerate(sentences):
        data = utf8(sentence, f"sentence {number}").replace(MARK_OF_UNKNOWN, b" ")
        if not data.strip():
            continue
        # sentencepiece removes the names of its symbols from the training text. A blank prevents that, so
        # that their characters are learnt like any others.
        data = SYMBOL.sub(b"< ", data) if b"<" in data else data
        count += 1
        if len(sample) < size:
            sample.append(data)
        elif (place := draw.randrange(count)) < size:
            sample[place] = data
    return sample


def utf8(text, what):
    """Returns a text as UTF-8; raises DataError for anything else than valid Unicode."""
    if not isinstance(text, str):
        raise DataError(f"{what} must be a string, got {type(text).__name__}")
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise DataError(f"{what} is not valid Unicode: a lone surrogate at character {error.start}") from None


def _training_error(message, count, vocabulary_size):
    """Explains an error of sentencepiece's trainer."""
    if count == 0 or "all_chars_count" in message or "sentences_.empty()" in message:
        return DataError(f"no text to learn subwords from: {count} sentences, none of 1 to 4,192 bytes")
    if limit := re.search(r"set it to a value <= (\d+)", message):
        problem = f"too large for {count} sentences; the largest is {limit[1]}"
        return VocabularySizeError(f"vocabulary_size {vocabulary_size} is {problem}", largest=int(limit[1]))
    if limit := re.search(r"required_chars\. \d+ vs (\d+)", message):
        problem = (
            f"too small: the text has {int(limit[1]) - 4} different characters, with the special symbols "
            f"{limit[1]}; increase it, or take a character_coverage below 1"
        )
        return VocabularySizeError(f"vocabulary_size {vocabulary_size} is {problem}", least=int(limit[1]))
    return KerasZooError(f"vocabulary_size {vocabulary_size} is not possible: {message}")
