"""The texts that users and contributors read avoid words that do not belong in plain technical English."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PATTERNS = (
    "src/**/*.py", "src/**/*.pyi", "docs/*.md", "README.md", "CONTRIBUTING.md", "examples/*.py", "benchmarks/**/*.py",
)  # fmt: skip
#: "There is no X" is idiomatic; "Y is no X" should be "Y is not an X".
AVOIDED = re.compile(
    r"\b(?:anew|so many|comes? back|one behind the other|told|dear|dearer|(?<!there )is no [a-z]+|papers? [1-5])\b",
    re.IGNORECASE,
)


def avoided_words(text):
    """Return the line numbers and texts of all matches, also of those that span a line break."""
    joined = re.sub(r"\n[ #]*", lambda match: " " + "\0" * (len(match[0]) - 1), text)
    squeezed = joined.replace("\0", "")
    places = [at for at, character in enumerate(joined) if character != "\0"]
    return [(text.count("\n", 0, places[match.start()]) + 1, match[0]) for match in AVOIDED.finditer(squeezed)]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_words_to_avoid(pattern):
    paths = sorted(ROOT.glob(pattern))
    assert paths, f"no file matches {pattern}"
    found = [
        f"{path.relative_to(ROOT)}:{line}: {words!r}"
        for path in paths
        for line, words in avoided_words(path.read_text(encoding="utf-8"))
    ]
    assert not found, "words to avoid:\n" + "\n".join(found)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It is told.", [(1, "told")]),
        ("a\nsee Paper 3\n", [(2, "Paper 3")]),
        ("x is no\n    # structure", [(1, "is no structure")]),
        ("There is no display; folder, toldo, paper 12", []),
        ("fill it\nanew", [(2, "anew")]),
    ],
)
def test_matches(text, found):
    assert avoided_words(text) == found


def test_docstrings_refer_to_pages_by_title():
    """The folder docs is not part of an installation."""
    found = [
        str(path.relative_to(ROOT))
        for path in sorted((ROOT / "src").rglob("*.py"))
        if re.search(r"docs/\w+\.md", path.read_text(encoding="utf-8"))
    ]
    assert not found
