"""What is wrong with the pairs of a corpus: counts for a report."""

import re
from collections import Counter
from statistics import median

HTML = re.compile(r"&(?:#\d+|#x[0-9a-fA-F]+|amp|lt|gt|quot|apos|nbsp);")
NUMBER = re.compile(r"\d+")
SHORT = 30  # characters; the lengths of shorter sentences say little
FEW = 20  # pairs with numbers


def count_problems(pairs):
    """Counts (source, target) strings that teach a translator nothing, or something wrong: a `Counter`.

    They are `"blank"`; `"copied"`, with equal sides; `"repeated"`; with `"HTML entities"`; or `"misaligned"`:
    their lengths differ by more than three times what is usual, or their numbers differ, which counts if most
    pairs with numbers are like that.
    """
    counts, seen = Counter(), set()
    full = [pair for pair in pairs if pair[0].strip() and pair[1].strip()]
    usual = median(len(target) / len(source) for source, target in full) if full else 1
    numbered = differ = 0
    for source, target in full:
        counts["repeated"] += (source, target) in seen
        seen.add((source, target))
        counts["copied"] += source.strip() == target.strip()
        ratio = len(target) / len(source) / usual
        counts["misaligned"] += max(len(source), len(target)) > SHORT and not 1 / 3 <= ratio <= 3
        numbers = [set(NUMBER.findall(side)) for side in (source, target)]
        numbered += all(numbers)
        differ += all(numbers) and not numbers[0] & numbers[1]
    if numbered >= FEW and differ > numbered / 2:
        counts["misaligned"] += differ
    counts["blank"] = len(pairs) - len(full)
    counts["HTML entities"] = sum(any(map(HTML.search, pair)) for pair in pairs)
    return +counts
