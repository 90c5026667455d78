"""The features of a plain tagger, as strings that every package accepts."""

from __future__ import annotations


def shape(word: str) -> str:
    """Return the classes of the characters without repetitions: "Madrid-99" gives "Xx-d"."""
    out: list[str] = []
    for c in word:
        symbol = "X" if c.isupper() else "x" if c.islower() else "d" if c.isdigit() else c
        if not out or out[-1] != symbol:
            out.append(symbol)
    return "".join(out)


def plain_features(sentence: list[tuple[str, str]]) -> list[list[str]]:
    """Return word, affixes, shape and part of speech; word, shape and part of speech of one neighbour on each side."""
    rows = []
    for t, (word, pos) in enumerate(sentence):
        low = word.lower()
        row = ["bias", f"W={word}", f"p={pos}", f"s={shape(word)}", f"3<{low[:3]}", f"2>{low[-2:]}", f"3>{low[-3:]}"]
        rows.append(row + neighbours(sentence, t, (-1, 1)))
    return rows


def rich_features(sentence: list[tuple[str, str]]) -> list[list[str]]:
    """Return word with and without case, six affixes, shape and part of speech; two neighbours on each side."""
    rows = []
    for t, (word, pos) in enumerate(sentence):
        low = word.lower()
        row = ["bias", f"w={low}", f"W={word}", f"p={pos}", f"s={shape(word)}"]
        row += [f"{n}<{low[:n]}" for n in (1, 2, 3)] + [f"{n}>{low[-n:]}" for n in (1, 2, 3)]
        rows.append(row + neighbours(sentence, t, (-2, -1, 1, 2)))
    return rows


def neighbours(sentence: list[tuple[str, str]], t: int, offsets: tuple[int, ...]) -> list[str]:
    """Return word in lower case, part of speech and shape of the tokens at these offsets from t."""
    row: list[str] = []
    for offset in offsets:
        if 0 <= t + offset < len(sentence):
            word, pos = sentence[t + offset]
            row += [f"{offset}w={word.lower()}", f"{offset}p={pos}", f"{offset}s={shape(word)}"]
        else:
            row.append(f"{offset}none")
    return row
