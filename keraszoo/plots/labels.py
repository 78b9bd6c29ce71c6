"""Words as a picture can show them: cut, made visible, and in a font that has their letters."""

from keraszoo.text.subwords import WORD_START

LONGEST_LABEL = 24  # letters


def word_labels(tokens):
    """How tokens are written: subword marks, blanks and control characters made visible, the longest cut."""
    pieces = any(token.startswith(WORD_START) for token in tokens)
    labels = []
    for token in tokens:
        label = token.removeprefix(WORD_START)
        if pieces and label == token and not token.startswith("<"):
            label = "·" + label
        label = "".join(letter if letter.isprintable() else "\ufffd" for letter in label)
        label = label if label.strip() else "\u2423"
        labels.append(label if len(label) <= LONGEST_LABEL else label[: LONGEST_LABEL - 1] + "…")
    return labels


def fitting_fonts(lists, title):
    """Chooses the fonts that have the letters; a letter that none has becomes an empty box.

    Matplotlib would draw such a box, too, but with a warning for each.

    Args:
        lists: of lists of labels.
        title: str or None.

    Returns:
        Names of fonts, the lists and the title.
    """
    from matplotlib import font_manager

    def letters_of(path):
        try:
            return set(font_manager.get_font(path).get_charmap())
        except (OSError, RuntimeError, UnicodeDecodeError):  # coloured emoji, for example, have no outlines
            return set()

    missing = {ord(letter) for labels in (*lists, [title or ""]) for label in labels for letter in label}
    missing.discard(ord("\n"))  # a title may have two lines
    families = ["DejaVu Sans"]  # comes with matplotlib
    missing -= letters_of(font_manager.findfont("DejaVu Sans"))
    for font in sorted(font_manager.fontManager.ttflist, key=lambda font: (font.weight != 400, font.name)):
        if not missing:
            break
        if font.style == "normal" and font.name not in families and "Last Resort" not in font.name:
            found = missing & letters_of(font.fname)
            if found and found <= letters_of(font_manager.findfont(font.name)):
                families.append(font.name)
                missing -= found
    boxes = dict.fromkeys(missing, "\u25a1")
    lists = [[label.translate(boxes) for label in labels] for labels in lists]
    return families, lists, title.translate(boxes) if title else None
