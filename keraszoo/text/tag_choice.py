"""A choice of labels, and other names for them."""

import functools
from collections.abc import Mapping

from keraszoo.errors import KerasZooError
from keraszoo.messages import shown, suggestion
from keraszoo.text.tag_schemes import split_tag


def relabel(tags, labels=None, mapping=None):
    """Renames labels of tags by the dict `mapping`, then turns tags of labels not in `labels` into `O`.

    >>> relabel(["B-PERSON", "I-PERSON", "O", "B-DATE"], labels=["PER"], mapping={"PERSON": "PER"})
    ['B-PER', 'I-PER', 'O', 'O']
    """
    labels, renamed = [labels] if isinstance(labels, str) else labels, []
    for letter, label in map(split_tag, tags):
        label = (mapping or {}).get(label, label)
        renamed.append(f"{letter}-{label}" if label and (labels is None or label in labels) else "O")
    return renamed


def check_choice(known, labels=None, mapping=None):
    """Returns the arguments of `relabel` for a text that has `known` labels.

    Raises KerasZooError: a label that there is not, or a new one that is no label.
    """
    labels = [labels] if isinstance(labels, str) else labels
    if labels is not None and not isinstance(labels, (list, tuple, set, frozenset)):
        raise KerasZooError(f"labels: expected a list of labels, got {shown(labels)}")
    if mapping is not None and not isinstance(mapping, Mapping):
        raise KerasZooError(f"mapping: expected a dict of old labels to new ones, got {shown(mapping)}")
    mapping = dict(mapping or {})
    for new in mapping.values():
        if not isinstance(new, str) or new.split() != [new] or new == "O":
            hint = "; `labels` leaves labels out" if new == "O" else ""
            raise KerasZooError(f"mapping: expected a label without blanks, got {shown(new)}{hint}")
    renamed = {mapping.get(label, label) for label in known}
    for name, given, there in (("mapping", mapping, known), ("labels", labels or (), renamed)):
        for label in given:
            if label not in there:
                raise KerasZooError(
                    f"{name}: there is no label {shown(label)}{suggestion(label, sorted(there))}"
                )
    return labels, mapping


def chosen(known, labels=None, mapping=None):
    """Returns `relabel` with checked labels and mapping, a function of tags with `known` labels."""
    if labels is None and not mapping:
        return list
    labels, mapping = check_choice(known, labels, mapping)
    return functools.partial(relabel, labels=labels, mapping=mapping)
