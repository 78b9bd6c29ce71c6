"""How far the confidence of translations can be believed: calibrated on one half, measured on the other.

    python experiments/tatoeba.py prepare en-de.tsv.gz runs/tatoeba_en_de
    python benchmarks/confidence.py tatoeba_en_de_transformer runs/tatoeba_en_de/test_references.tsv \
        --picture docs/images/reliability.png

Prints the expected calibration error (10 bins) of three probabilities that a translation is good (chrF2
against its best reference of at least `--threshold`), their area under the ROC curve, and the bins of the
last:

    exp(log p)      the model's probability of the sentence
    exp(log p / T)  the same, normalised by length
    confidence      of `Translator.calibrate`, with the first, third, ... source sentences
"""

import argparse
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")


def area_under_curve(values, good):
    """The probability that a good one has a higher value than a bad one."""
    from scipy.stats import mannwhitneyu

    high, low = ([v for v, g in zip(values, good, strict=True) if g is wanted] for wanted in (True, False))
    return mannwhitneyu(high, low).statistic / (len(high) * len(low))


def main():
    """Prints the errors and draws the diagram."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument(
        "pairs", help="lines `source TAB target`, several of a source with several references"
    )
    parser.add_argument("--threshold", type=float, default=60.0)
    parser.add_argument("--picture", help="where to draw the reliability diagram")
    options = parser.parse_args()

    import numpy as np

    from keraszoo import Translator
    from keraszoo.evaluation import expected_calibration_error, reliability
    from keraszoo.plots import reliability_plot
    from keraszoo.text.parallel import read_pairs
    from keraszoo.translation.confidence import judged

    translator = Translator.from_preset(options.model)
    pairs = list(read_pairs(options.pairs))
    place = {source: i for i, source in enumerate(dict.fromkeys(source for source, _ in pairs))}
    halves = [[pair for pair in pairs if place[pair[0]] % 2 == half] for half in (0, 1)]
    print(translator.calibrate(halves[0], options.threshold))
    log_probs, tokens, good = judged(translator, halves[1], options.threshold)
    log_probs, tokens = np.array(log_probs), np.array(tokens)
    confidences = [translator.confidence(*given) for given in zip(log_probs, tokens, strict=True)]
    print(
        f"{len(good)} sentences, {100 * np.mean(good):.1f} % good (chrF2 of at least {options.threshold:g})"
    )
    print("| probability | calibration error | area under the ROC curve |")
    print("|---|---|---|")
    bins = {}
    for name, values in {
        "exp(log p)": np.exp(log_probs),
        "exp(log p / T)": np.exp(log_probs / tokens),
        "confidence": confidences,
    }.items():
        bins[name] = reliability(values, good)
        error, area = expected_calibration_error(bins[name]), area_under_curve(values, good)
        print(f"| {name} | {error:.3f} | {area:.3f} |")
    for group in bins["confidence"]:
        if group.count:
            print(
                f"{group.low:.1f} to {group.high:.1f}: {group.count:4} sentences, {group.accuracy:.2f} good"
            )
    if options.picture:
        del bins["exp(log p)"]
        reliability_plot(bins, options.picture, title="Good translations by their probability")


if __name__ == "__main__":
    main()
