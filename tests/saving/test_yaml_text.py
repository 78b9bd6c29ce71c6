import pytest

from keraszoo.saving import yaml_text

HOSTILE = [
    *("!!bool foo", "!!int ''", "!!int 1.5", "!!int [1]", "!!float ''", "!!float abc", "!!null x", "!foo 3"),
    *("!!timestamp foo", "!!int " + "9" * 101, "!!set {a}", "!!binary x", "!!omap [a: 1]", "!!map x"),
    *("!!seq x", "!!str [a]", "!!python/object/apply:os.system [x]", "!!python/name:os.system"),
    *("{[a]: 3}", "[" * 33, "*a", "[", "a\n---\nb", "\x07"),
]


@pytest.mark.parametrize("text", HOSTILE)
def test_what_is_no_core_type_is_one_line(text):
    with pytest.raises(ZeroDivisionError) as error:
        yaml_text.parse(f"# a comment\n- {text}", "file", ZeroDivisionError)
    assert str(error.value).startswith("file:") and len(str(error.value)) < 160
    assert len(str(error.value).splitlines()) == 1


TEXTS = ["no", "yes", "on", "2024-02-31", "1:30", "1_000", "=", "<<"]  # numbers and others elsewhere
TEXTS += ["1" + ":59" * 200 + ".5", "9" * 100_000, "0x" + "f" * 100_000]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *zip(TEXTS, TEXTS, strict=True),
        *((text, None) for text in ("", "~", "null")),
        *(("true", True), ("FALSE", False), ("010", 10), ("0o17", 15), ("0x1f", 31), ("-3", -3)),
        *((".5", 0.5), ("1.", 1.0), ("1e3", 1e3), ("-.inf", float("-inf")), ("'3'", "3"), ("+1.5E-2", 0.015)),
    ],
)
def test_the_types_are_those_of_yaml_1_2(text, value):
    (found,) = yaml_text.parse(f"- {text}", "file", ValueError)
    assert found == value and type(found) is type(value)


def test_aliases_repeated_keys_and_the_largest_file(tmp_path):
    assert yaml_text.parse("a: &x [1]\nb: *x", "file", ValueError, aliases=True) == {"a": [1], "b": [1]}
    with pytest.raises(ValueError, match="file:2: not YAML: small.licence: repeated, first in line 2"):
        yaml_text.parse("# facts\nsmall: {licence: mit, licence: gpl}", "file", ValueError)
    (tmp_path / "large").write_text("a" * (yaml_text.LONGEST + 1))
    with pytest.raises(ValueError, match="large: expected at most 1,048,576 characters, got more"):
        yaml_text.read_text(tmp_path / "large", ValueError)
