"""The features of a plain tagger, as strings that every package takes."""

from __future__ import annotations


def shape(word: str) -> str:
    """Upper-case, lower-case and digits by class, repetitions once: "Madrid-99" gives "Xx-d"."""
    out: list[str] = []
    for c in word:
        symbol = "X" if c.isupper() else "x" if c.islower() else "d" if c.isdigit() else c
        if not out or out[-1] != symbol:
            out.append(symbol)
    return "".join(out)


def plain_features(sentence: list[tuple[str, str]]) -> list[list[str]]:
    """Word, affixes, shape and part of speech; word and part of speech of two neighbours on each side."""
    words = [word.lower() for word, _ in sentence]
    rows = []
    for t, (word, pos) in enumerate(sentence):
        low = words[t]
        row = ["bias", f"w={low}", f"W={word}", f"p={pos}", f"s={shape(word)}"]
        row += [f"{n}<{low[:n]}" for n in (1, 2, 3)] + [f"{n}>{low[-n:]}" for n in (1, 2, 3)]
        for offset in (-2, -1, 1, 2):
            at = t + offset
            if 0 <= at < len(sentence):
                row += [f"{offset}w={words[at]}", f"{offset}p={sentence[at][1]}", f"{offset}s={shape(sentence[at][0])}"]
            else:
                row.append(f"{offset}none")
        rows.append(row)
    return rows
