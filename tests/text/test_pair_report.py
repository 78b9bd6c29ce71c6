"""Counts of pairs that teach nothing, or something wrong."""

from keraszoo.text.pair_report import count_problems

GOOD = [(f"There are {i} dogs in the park.", f"Es sind {i} Hunde im Park.") for i in range(50)]


def test_a_good_corpus_has_no_problems():
    assert count_problems(GOOD) == {} and count_problems([]) == {}
    assert count_problems([("At 5 pm it rains.", "Um 17 Uhr regnet es."), *GOOD]) == {}


def test_each_kind_is_counted():
    pairs = [
        *GOOD,
        GOOD[0],
        ("", "Es regnet."),
        ("Rain.", " \t"),
        ("New York Times", "New York Times"),
        ("Yes.", "Ja, das haben wir gestern alle zusammen so beschlossen."),
        ("It rains &amp; snows on you.", "Es regnet und schneit bei dir."),
    ]
    counts = {"repeated": 1, "blank": 2, "copied": 1, "misaligned": 1, "HTML entities": 1}
    assert count_problems(pairs) == counts
    shifted = [(source, GOOD[i - 1][1]) for i, (source, _) in enumerate(GOOD)]
    assert count_problems(shifted) == {"misaligned": 50}  # the numbers differ
