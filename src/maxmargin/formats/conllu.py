"""CoNLL-U files, read and written by the conllu package (extra ``nlp``)."""

from __future__ import annotations

import copy
import io
from typing import Any

from maxmargin.features.text.sentences import Sentence, read_sentence
from maxmargin.formats.streams import FormatError, Source, open_bytes


def conllu_package() -> Any:
    """Return the module conllu; the error message of a missing one names the extra."""
    try:
        import conllu
    except ImportError:
        raise ImportError("CoNLL-U needs the conllu package: pip install 'maxmargin[nlp]'") from None
    return conllu


def read_conllu(source: Source) -> list[Any]:
    """Return the token lists of a file, gzip or not; feats, deps and misc stay text, which is faster."""
    conllu = conllu_package()
    as_text = dict.fromkeys(("feats", "deps", "misc"), _text)
    with open_bytes(source) as file:
        text = io.TextIOWrapper(file, encoding="utf-8-sig")  # some editors write a byte order mark
        try:
            sentences = list(conllu.parse_incr(text, field_parsers=as_text))
        except UnicodeDecodeError as error:
            raise FormatError(source, None, f"expected UTF-8 text ({error})") from None
        except conllu.exceptions.ParseException as error:
            raise FormatError(source, None, f"not CoNLL-U: {error}") from None
        finally:
            text.detach()
    if not sentences:
        raise FormatError(source, None, "expected sentences in CoNLL-U, found none")
    return sentences


def _text(line: list[str], i: int) -> str | None:
    return None if line[i] == "_" else line[i]


def with_heads(x: Any, heads: list[int], place: Any, relations: list[str] | None = None) -> Any:
    """Return a token list with these heads and relations; without relations they are ``root`` and ``dep``."""
    conllu = conllu_package()
    if isinstance(x, conllu.models.TokenList):
        tokens = copy.deepcopy(x)
        rows = [token for token in tokens if isinstance(token["id"], int)]
    else:
        tokens = conllu.models.TokenList(_rows(read_sentence(x, place)))
        rows = list(tokens)
    labels = relations or ["dep" if head else "root" for head in heads]
    for row, head, relation in zip(rows, heads, labels, strict=True):
        row["head"], row["deprel"], row["deps"] = head, relation, None
    return tokens


def _rows(sentence: Sentence) -> list[dict[str, Any]]:
    """Return the ten columns of CoNLL-U for each word."""
    columns = ("lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
    given = {name: sentence.columns.get(name, [None] * len(sentence)) for name in columns}
    return [
        {"id": m + 1, "form": form, **{name: values[m] for name, values in given.items()}}
        for m, form in enumerate(sentence.columns["form"])
    ]
