"""The text that a server first gives a model: the page shows it, so a first click answers well."""

SENTENCES = {  # by the source language of a translator
    "en": "My brother bought a new car yesterday.",
    "de": "Mein Bruder hat gestern ein neues Auto gekauft.",
    "fr": "Mon frère a acheté une nouvelle voiture hier.",
    "es": "Mi hermano compró un coche nuevo ayer.",
    "it": "Mio fratello ha comprato una macchina nuova ieri.",
}
TEXTS = {  # by what a tagger finds
    ("per", "person", "loc", "location", "gpe", "org"): (
        "Marie Curie was born in Warsaw and worked at the University of Paris. In 1911, she met Albert "
        "Einstein in Brussels."
    ),
    ("disease", "chemical", "drug", "gene", "protein"): (
        "Aspirin reduces the risk of heart attack, but it can cause stomach bleeding. Patients with asthma "
        "may not tolerate it."
    ),
}


def example_of(config, languages):
    """Returns the example of a model, and its rank among the examples of its task: the first is 0.

    Args:
        config: the `config.json` of a model directory, which may be a stranger's.
        languages: list of str, the languages of the model.

    Returns:
        A str, `""` if there is none for the model, and an int.
    """
    if config.get("task") == "translation":
        keys, examples = set(languages[:1]), {(language,): text for language, text in SENTENCES.items()}
    else:
        vocabulary = config.get("vocabulary")
        labels = vocabulary.get("labels") if isinstance(vocabulary, dict) else None
        labels = labels if isinstance(labels, list) else []
        keys = {str(label).rpartition(".")[2].lower() for label in labels}
        examples = TEXTS
    fitting = (i for i, names in enumerate(examples) if not keys.isdisjoint(names))
    rank = next(fitting, len(examples))
    return [*examples.values(), ""][rank], rank
