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
#: What plain English says in another way, with the reason.
PHRASES = {
    r"\bbounds? of\b(?! the form\b)": "a bound *on* something",
    r", so that\b": "a result is ', so …'; a purpose is 'so that' without a comma",
    r"(?<![`.\w])(?:return|write|add|set) what (?:`|was learnt|is wrong|[a-z' ]+ (?:returns?|returned|adds)\b)": (
        "say what it is, not which function has it"
    ),
    r"\bgreatest number of\b": "maximum number of",
    r"\bwhole numbers?\b": "integer",
    r"\bof equals\b": "ties go to …",
}


def avoided_words(text, avoided=AVOIDED):
    """Return the line numbers and texts of all matches, also of those that span a line break."""
    joined = re.sub(r"\n[ #:]*", lambda match: " " + "\0" * (len(match[0]) - 1), text)
    squeezed = joined.replace("\0", "")
    places = [at for at, character in enumerate(joined) if character != "\0"]
    return [(text.count("\n", 0, places[match.start()]) + 1, match[0]) for match in avoided.finditer(squeezed)]


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


@pytest.mark.parametrize("phrase", PHRASES)
def test_phrases_to_avoid(phrase):
    avoided = re.compile(phrase, re.IGNORECASE)
    found = [
        f"{path.relative_to(ROOT)}:{line}: {words!r}"
        for pattern in PATTERNS
        for path in sorted(ROOT.glob(pattern))
        if path.name != "names.md"  # made from docstrings
        for line, words in avoided_words(path.read_text(encoding="utf-8"), avoided)
    ]
    assert not found, f"{PHRASES[phrase]}:\n" + "\n".join(found)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("an upper\n    bound of the loss", 1),
        ("a bound of the form a + b, bounds on the loss", 0),
        ("rows are sorted, so\n#: that ties", 1),
        ("rows are sorted so that ties are stable, so they are", 0),
        ("Return what `fit` learnt. Set what it returned.", 2),
        ("Return what a user's function returns", 1),
        ("Greatest number of steps, a whole\nnumber; of equals the first", 3),
        ("whole_number, the greatest of them, numbers of equal size", 0),
    ],
)
def test_phrases(text, found):
    assert sum(len(avoided_words(text, re.compile(phrase, re.IGNORECASE))) for phrase in PHRASES) == found


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
