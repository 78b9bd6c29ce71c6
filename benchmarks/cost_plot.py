"""Plots the output of cost_of_size.py."""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

CORPUS = {
    "memory, MB": {"vocabulary": "vocabulary_rss_mb", "corpus": "next_epoch_rss_mb"},
    "text to corpus, µs a token": {"corpus": "corpus_us_a_token"},
    "first batch, s": {"corpus": "first_batch_s"},
    "training, µs a token": {"corpus": "step_us_a_token"},
}
COLOURS = {"vocabulary": "C2", "corpus": "C0", "transformer": "C0", "rnnsearch": "C1"}
LENGTH = {
    "training, µs a token": {"transformer": "step_us_a_token", "rnnsearch": "step_us_a_token"},
    "memory, MB": {"transformer": "more_steps_rss_mb", "rnnsearch": "more_steps_rss_mb"},
}


def plot(points, path):
    """Draws one panel per cost against the corpus size and against the sentence length.

    Args:
        points: list of dicts, as cost_of_size.py prints them.
        path: of the PNG.
    """
    panels = []
    for size, label, costs in (("pairs", "pairs", CORPUS), ("words", "words of a sentence", LENGTH)):
        chosen = [point for point in points if size in point]
        panels += [(size, label, cost, keys, chosen) for cost, keys in costs.items() if chosen]
    figure, axes = plt.subplots(1, len(panels), figsize=(4 * len(panels), 3.4), squeeze=False)
    for axis, (size, label, cost, keys, chosen) in zip(axes[0], panels, strict=True):
        highest = 0
        for kind, key in keys.items():
            line = sorted((point[size], point[key]) for point in chosen if point["kind"] == kind)
            highest = max([highest, *(value for _, value in line)])
            axis.plot(*zip(*line, strict=True), marker="o", color=COLOURS[kind], label=kind)
        axis.set(xscale="log", xlabel=label, ylabel=cost, ylim=(0, 1.08 * highest))
        axis.legend()
        axis.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)
