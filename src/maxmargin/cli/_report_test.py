"""What a model does to a test file: scores, confusions or a breakdown of errors, and the worst examples, explained."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from maxmargin._base.errors import Place
from maxmargin.cli._data import Kind, TaskModel
from maxmargin.cli._examples import Request
from maxmargin.cli._scores import scores_of
from maxmargin.features.text.brackets import written
from maxmargin.features.text.treebank import read_tree
from maxmargin.metrics import base_pair_scores, bracket_scores, ndcg_at_k

#: Labels of a confusion matrix; with more, the most frequent confusions are listed.
_MOST_LABELS = 20
#: Confusions listed, features that explain an example, tokens shown of a long one, and its rows.
_LISTED, _FEATURES, _SHOWN, _MOST_ROWS = 20, 8, 40, 30


@dataclass(frozen=True)
class Table:
    """A table: title, names of columns, rows of texts and numbers, and a note below."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[Any]]
    note: str = ""


class Marked(str):
    """A cell that shows an error."""


@dataclass(frozen=True)
class Wrong:
    """An example with an error.

    Attributes
    ----------
    title : which example, and its loss.
    tables : the output beside the truth.
    lines : the same for outputs that are texts, one line below the other.
    why : the explanation of the prediction; empty if there is none.
    """

    title: str
    tables: Sequence[Table] = ()
    lines: str = ""
    why: str = ""


@dataclass(frozen=True)
class Analysis:
    """What is shown of a test file.

    Attributes
    ----------
    source, size : the file, and what it has.
    scores : scores by name.
    tables : confusions or a breakdown of errors.
    n_examples, n_wrong : number of examples, and of those with an error.
    wrong : the worst examples, the worst first.
    """

    source: str
    size: str
    scores: dict[str, float]
    tables: Sequence[Table]
    n_examples: int
    n_wrong: int
    wrong: Sequence[Wrong] = field(default=())


@dataclass(frozen=True)
class _Compared:
    """True and predicted outputs of the examples of a file.

    Attributes
    ----------
    model : the estimator.
    X, Y, predicted : inputs, true outputs and predictions.
    losses : loss of each example, from 0 to 1.
    show : returns the tables and the lines of an example.
    labels : pairs of a true and a predicted label, whose confusions are counted; None if outputs have no labels.
    sizes : size of each example (tokens, bases); None if all have the same.
    names : what each example is called.
    tables : further tables.
    explain : returns the explanation of an example.
    """

    model: Any
    X: Any
    Y: Any
    predicted: Any
    losses: Any
    show: Callable[[int], tuple[list[Table], str]]
    labels: Sequence[tuple[str, str]] | None = None
    sizes: Sequence[int] | None = None
    names: Sequence[str] | None = None
    tables: Sequence[Table] = ()
    explain: Callable[[int], str] | None = None


def analysis(kind: Kind | TaskModel, source: str, zero_based: bool, n_shown: int) -> Analysis:
    """Return the analysis of a model on a file, with the `n_shown` worst examples."""
    if isinstance(kind, TaskModel):
        request = Request(zero_based)
        examples = kind.task.examples(kind.model, source, request)
        scores = kind.task.scores(kind.model, examples, request).as_dict()
        with examples.located():
            compared = _TASKS[kind.task.name](kind.model, examples)
        size = examples.size
    else:
        X, Y = kind.read(source)
        predicted = kind.model.predict(X)
        if kind.is_tagger:
            compared = _sequences(kind.model, X, Y, predicted)
            size = f"{len(Y)} sequences, {sum(map(len, Y))} tokens"
        else:
            compared = _labelled_rows(kind.model, X, Y, predicted)
            size = f"{X.shape[0]} rows, {X.shape[1]} features"
        whole = scores_of(kind.is_tagger, Y, predicted)
        scores = {"accuracy": whole.accuracy}
        if whole.entities is not None:
            scores = {"F1 of entities": whole.entities.f1, **scores}
            rows = [[kind_, part.precision, part.recall, part.f1, part.n_true]
                    for kind_, part in sorted(whole.entities.types.items())]  # fmt: skip
            head = ["type", "precision", "recall", "F1", "true"]
            compared = _with_tables(compared, [Table("Entities", head, rows)])
    return _analysed(compared, source, size, scores, n_shown)


def _with_tables(compared: _Compared, tables: Sequence[Table]) -> _Compared:
    return _Compared(**{**vars(compared), "tables": [*tables, *compared.tables]})


def _analysed(compared: _Compared, source: str, size: str, scores: dict[str, Any], n_shown: int) -> Analysis:
    losses = np.asarray(compared.losses, float)
    tables = list(compared.tables)
    if compared.labels is not None:
        tables += _confusions(compared.labels)
    if compared.sizes is not None:
        tables += _by_size(np.asarray(compared.sizes), losses)
    order = np.argsort(-losses, kind="stable")[:n_shown]
    wrong = [_wrong(compared, int(i), float(losses[i])) for i in order if losses[i] > 0.0]
    return Analysis(source, size, scores, tables, len(losses), int((losses > 0.0).sum()), wrong)


def _wrong(compared: _Compared, i: int, loss: float) -> Wrong:
    name = compared.names[i] if compared.names else f"example {i + 1}"
    tables, lines = compared.show(i)
    why = _explained(compared.model, compared.X[i]) if compared.explain is None else compared.explain(i)
    return Wrong(f"{name}: loss {loss:.3g}", tables, lines, why)


def _explained(model: Any, x: Any) -> str:
    return str(model.explain(x, n_features=_FEATURES)) if hasattr(model, "explain") else ""


# ---------------------------------------------------------------------- tables of errors


def _confusions(labels: Sequence[tuple[str, str]]) -> Iterator[Table]:
    """Yield the confusion matrix; with many labels, the most frequent confusions and labels that are missed most."""
    counts = Counter(labels)
    names = sorted({label for pair in counts for label in pair})
    if len(names) <= _MOST_LABELS:
        rows = [[true, *(_marked(counts[true, other], true != other) for other in names)] for true in names]
        yield Table("Confusions", ["true \\ predicted", *names], rows)
        return
    errors = [(n, *pair) for pair, n in counts.items() if pair[0] != pair[1]]
    rows = [[true, other, n] for n, true, other in sorted(errors, reverse=True)[:_LISTED]]
    yield Table("Most frequent confusions", ["true", "predicted", "number"], rows, f"There are {len(names)} labels.")
    total, missed = Counter(true for true, _ in labels), Counter(true for true, other in labels if true != other)
    rows = [[name, n / total[name], total[name]] for name, n in missed.most_common(_LISTED)]
    yield Table("Labels missed most", ["label", "share missed", "true"], rows)


def _marked(n: int, is_error: bool) -> Any:
    return Marked(n) if is_error and n else n


def _by_size(sizes: Any, losses: Any) -> Iterator[Table]:
    """Yield the mean loss by size of the example, in up to four groups of about the same number."""
    edges = np.unique(np.quantile(sizes, [0.0, 0.25, 0.5, 0.75, 1.0], method="nearest"))
    if len(edges) < 2:
        return
    rows = []
    for number, (low, high) in enumerate(pairwise(edges.tolist())):
        inside = (sizes >= low if number == 0 else sizes > low) & (sizes <= high)
        if inside.any():
            first = low if number == 0 else low + 1
            shares = float(losses[inside].mean()), float((losses[inside] == 0.0).mean())
            rows.append([f"{first} to {high}", int(inside.sum()), *shares])
    yield Table("Errors by size", ["size", "examples", "mean loss", "share without error"], rows)


# ---------------------------------------------------------------------- sequences and rows


def _sequences(model: Any, X: Any, Y: Any, predicted: Any) -> _Compared:
    pairs = [[(str(a), str(b)) for a, b in zip(y, z, strict=True)] for y, z in zip(Y, predicted, strict=True)]
    losses = [sum(a != b for a, b in some) / max(len(some), 1) for some in pairs]

    def show(i: int) -> tuple[list[Table], str]:
        return [_tokens(X[i], pairs[i])], ""

    return _Compared(model, X, Y, predicted, losses, show, [p for some in pairs for p in some], [len(y) for y in Y])


def _tokens(x: Any, pairs: Sequence[tuple[str, str]], head: Sequence[str] = ("true", "predicted")) -> Table:
    """Return tokens with true and predicted label; of many, those near errors."""
    kept = set(range(len(pairs)))
    if len(pairs) > _SHOWN:
        kept = {t + s for t, (a, b) in enumerate(pairs) if a != b for s in (-1, 0, 1)} & kept
    rows = [[t + 1, _token(x, t), a, Marked(b) if a != b else b] for t, (a, b) in enumerate(pairs) if t in kept]
    note = f"{len(rows[:_MOST_ROWS])} of {len(pairs)} tokens are shown." if len(rows[:_MOST_ROWS]) < len(pairs) else ""
    return Table("", ["", "token", *head], rows[:_MOST_ROWS], note)


def _token(x: Any, t: int) -> str:
    """Return what is shown of a token: its word, or the beginning of its features."""
    if hasattr(x, "shape"):
        return ""
    token = x[t]
    if isinstance(token, tuple | list) and token and isinstance(token[0], str):
        return " ".join(map(str, token[:3]))
    return str(token)[:60]


def _labelled_rows(model: Any, X: Any, Y: Any, predicted: Any) -> _Compared:
    pairs = [(str(a), str(b)) for a, b in zip(Y, predicted, strict=True)]

    def show(i: int) -> tuple[list[Table], str]:
        return [Table("", ["true", "predicted"], [[pairs[i][0], Marked(pairs[i][1])]])], ""

    def explain(i: int) -> str:
        return _explained(model, _row(X, i)) or _products(model, X, i)

    return _Compared(
        model, X, Y, predicted, [float(a != b) for a, b in pairs], show, pairs,
        names=[f"row {i + 1}" for i in range(len(pairs))], explain=explain,
    )  # fmt: skip


def _row(X: Any, i: int) -> Any:
    return X[[i]].toarray()[0] if hasattr(X, "toarray") else X[i]


def _products(model: Any, X: Any, i: int) -> str:
    """Return the features with the largest products w_j x_j, where a row is scored alone by one vector of weights."""
    w, x = np.asarray(getattr(model, "coef_", [])).ravel(), _row(X, i)
    if len(w) != len(x):
        return ""
    products = w * x
    order = [j for j in np.argsort(-np.abs(products), kind="stable")[:_FEATURES].tolist() if products[j] != 0.0]
    names = getattr(model, "feature_names_in_", None)
    lines = [f"score w·x = {products.sum():.4g}"]
    lines += [f"  {products[j]:+.4g}  {f'x{j}' if names is None else names[j]}" for j in order]
    return "\n".join(lines)


def _rows_of(model: Any, examples: Any) -> _Compared:
    return _labelled_rows(model, examples.X, examples.Y, model.predict(examples.X))


def _label_sets(model: Any, examples: Any) -> _Compared:
    Y, predicted = np.asarray(examples.Y), np.asarray(model.predict(examples.X))
    counts = [[k, *(int(((Y[:, k] == a) & (predicted[:, k] == b)).sum()) for a, b in ((1, 1), (0, 1), (1, 0)))]
              for k in range(Y.shape[1])]  # fmt: skip
    table = Table("Labels", ["label", "found", "false", "missed"], counts)

    def show(i: int) -> tuple[list[Table], str]:
        shown = [", ".join(map(str, np.flatnonzero(row[i]).tolist())) or "–" for row in (Y, predicted)]
        return [Table("", ["true", "predicted"], [[shown[0], Marked(shown[1])]])], ""

    return _Compared(
        model, examples.X, Y, predicted, (predicted != Y).mean(axis=1), show, tables=[table],
        names=[f"row {i + 1}" for i in range(len(Y))], explain=lambda i: _explained(model, _row(examples.X, i)),
    )  # fmt: skip


def _queries(model: Any, examples: Any) -> _Compared:
    """Compare the order of the documents of each query with their relevance, by NDCG@10."""
    y, scores, groups = np.asarray(examples.Y), model.predict(examples.X), np.asarray(examples.groups)
    queries = list(dict.fromkeys(groups.tolist()))
    rows = [np.flatnonzero(groups == query) for query in queries]
    ndcg = [float(ndcg_at_k(y[r], scores[r], groups[r], 10, gain=model.gain, discount=model.discount)) for r in rows]
    losses = [0.0 if not (y[r] > 0).any() else 1.0 - value for r, value in zip(rows, ndcg, strict=True)]
    edges = [0.0, 0.25, 0.5, 0.75, 1.0]
    counts = np.histogram([1.0 - loss for loss in losses], edges)[0].tolist()
    table = Table(
        "NDCG@10 of the queries", ["from", "to", "queries"],
        [[low, high, n] for (low, high), n in zip(pairwise(edges), counts, strict=True)],
        "Queries without relevant documents count as 1.",
    )  # fmt: skip

    def show(i: int) -> tuple[list[Table], str]:
        order = rows[i][np.argsort(-scores[rows[i]], kind="stable")][:10]
        best = np.sort(y[rows[i]])[::-1]
        shown = [
            [p + 1, f"row {r + 1}", float(scores[r]), Marked(f"{y[r]:g}") if y[r] < best[p] else f"{y[r]:g}"]
            for p, r in enumerate(order.tolist())
        ]
        return [Table("", ["rank", "document", "score", "relevance"], shown)], ""

    def explain(i: int) -> str:
        first = int(rows[i][np.argmax(scores[rows[i]])])
        text = _products(model, examples.X, first)
        return text and f"document ranked first, row {first + 1}: {text}"

    names = [f"query {query}" for query in queries]
    return _Compared(
        model, examples.X, y, scores, losses, show, sizes=[len(r) for r in rows], names=names, tables=[table],
        explain=explain,
    )  # fmt: skip


# ---------------------------------------------------------------------- trees


def _dependencies(model: Any, examples: Any) -> _Compared:
    labelled = hasattr(model, "relation_coef_")
    predicted = model.predict_labelled(examples.X) if labelled else model.predict(examples.X)
    true = [list(zip(y, ["_"] * len(y), strict=True)) if not model.labelled else list(y) for y in examples.Y]
    pred = predicted if labelled else [[(head, "_") for head in z] for z in predicted]
    words = [(t, a, b) for y, z in zip(true, pred, strict=True) for t, (a, b) in enumerate(zip(y, z, strict=True), 1)]
    tables = [_attachment("Heads by distance", [(_distance(t, a[0]), a, b) for t, a, b in words], False)]
    if labelled:
        tables.append(_attachment("Relations", [(a[1], a, b) for _, a, b in words], True))
    losses = [sum(a != b for a, b in zip(y, z, strict=True)) / max(len(y), 1) for y, z in zip(true, pred, strict=True)]

    def show(i: int) -> tuple[list[Table], str]:
        words_of = ["root", *map(_word, examples.X[i])]

        def text(pair: tuple[int, str]) -> str:
            return f"{pair[0]} {words_of[pair[0]]}{f' ({pair[1]})' if labelled else ''}"

        pairs = [(text(a), text(b)) for a, b in zip(true[i], pred[i], strict=True)]
        return [_tokens([(word,) for word in words_of[1:]], pairs, ("true head", "predicted head"))], ""

    labels = [(a[1], b[1]) for _, a, b in words] if labelled else None
    return _Compared(
        model, examples.X, examples.Y, predicted, losses, show, labels, [len(x) for x in examples.X],
        [f"sentence {i + 1}" for i in range(len(true))], tables,
    )  # fmt: skip


def _word(word: Any) -> str:
    if isinstance(word, dict):
        return str(word.get("form", next(iter(word.values()), "")))
    return str(word[0]) if isinstance(word, tuple | list) else str(word)


def _distance(t: int, head: int) -> str:
    if head == 0:
        return "0 root"
    size = abs(t - head)
    return f"{size} word{'s' if size > 1 else ''}" if size < 3 else "3 to 6 words" if size < 7 else "7 words and more"


def _attachment(title: str, words: Sequence[tuple[str, Any, Any]], labelled: bool) -> Table:
    """Return shares of right heads by group; if labelled, also of right heads with the right relation."""
    groups: dict[str, list[tuple[Any, Any]]] = defaultdict(list)
    for name, a, b in words:
        groups[name].append((a, b))
    rows = []
    for name, some in sorted(groups.items(), key=lambda item: item[0] if not labelled else -len(item[1])):
        heads = sum(a[0] == b[0] for a, b in some) / len(some)
        rows.append([name, len(some), heads, *([sum(a == b for a, b in some) / len(some)] if labelled else [])])
    return Table(title, ["", "words", "right heads", *(["with relation"] if labelled else [])], rows[:_MOST_ROWS])


def _phrases(model: Any, examples: Any) -> _Compared:
    truths, predicted = examples.X, model.predict(examples.X)  # trees stand for their sentences
    texts = [
        ["" if tree is None else written(read_tree(tree, Place("X", i))) for i, tree in enumerate(trees)]
        for trees in (truths, predicted)
    ]
    counts: dict[str, Counter[str]] = {name: Counter() for name in ("found", "false", "missed")}
    for y, z in zip(*texts, strict=True):
        true, other = _constituents(y), _constituents(z)
        for name, some in (("found", true & other), ("false", other - true), ("missed", true - other)):
            counts[name].update({label: n for label, n in _by_label(some).items()})
    labels = sorted({label for part in counts.values() for label in part})
    rows = [[label, *(part[label] for part in counts.values())] for label in labels]
    pairs = enumerate(zip(truths, predicted, strict=True))
    losses = [0.0 if texts[0][i] == texts[1][i] else 1.0 - bracket_scores([y], [z]).f1 for i, (y, z) in pairs]
    sizes = [max((end for _, _, end in _constituents(text)), default=0) for text in texts[0]]

    def show(i: int) -> tuple[list[Table], str]:
        return [], f"true       {texts[0][i]}\npredicted  {texts[1][i]}"

    return _Compared(
        model, examples.X, truths, predicted, np.nan_to_num(losses, nan=0.0), show, sizes=sizes,
        names=[f"sentence {i + 1}" for i in range(len(predicted))],
        tables=[Table("Constituents", ["label", *counts], rows)],
    )  # fmt: skip


def _constituents(text: str) -> Counter[tuple[str, int, int]]:
    """Return label, first and last token of the constituents of a tree in brackets, as often as they occur."""
    spans: Counter[tuple[str, int, int]] = Counter()
    opened: list[tuple[str, int]] = []
    at = 0
    for part in text.replace("(", " ( ").replace(")", " ) ").split():
        if part == "(":
            opened.append(("", at))
        elif part == ")":
            label, first = opened.pop()
            spans[label, first, at] += 1
        elif opened and not opened[-1][0] and opened[-1][1] == at:
            opened[-1] = part, at
        else:
            at += 1
    return spans


def _by_label(constituents: Counter[tuple[str, int, int]]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for (label, _, _), n in constituents.items():
        counts[label] += n
    return counts


# ---------------------------------------------------------------------- biology


def _folded(model: Any, examples: Any) -> _Compared:
    predicted = model.predict(examples.X)
    each = [base_pair_scores([y], [z]) for y, z in zip(examples.Y, predicted, strict=True)]
    losses = [
        0.0 if y == z else 1.0 - float(np.nan_to_num(score.f1))
        for y, z, score in zip(examples.Y, predicted, each, strict=True)
    ]

    def show(i: int) -> tuple[list[Table], str]:
        lines = zip(str(examples.X[i]), examples.Y[i], predicted[i], strict=True)
        marks = "".join(" " if y == z else "^" for _, y, z in lines)
        rows = (("", str(examples.X[i])), ("true", examples.Y[i]), ("predicted", predicted[i]), ("", marks))
        return [], _wrapped(rows)

    return _Compared(
        model, examples.X, examples.Y, predicted, losses, show, sizes=[len(x) for x in examples.X],
        names=list(examples.names) or None,
    )  # fmt: skip


def _aligned(model: Any, examples: Any) -> _Compared:
    predicted = model.predict(examples.X)
    losses = [1.0 - float(model.score([x], [y])) for x, y in zip(examples.X, examples.Y, strict=True)]

    def show(i: int) -> tuple[list[Table], str]:
        rows = [(name, str(row)) for name, pair in (("true", examples.Y[i]), ("predicted", predicted[i]))
                for name, row in ((name, pair[0]), ("", pair[1]))]  # fmt: skip
        return [], _wrapped(rows[:2]) + "\n\n" + _wrapped(rows[2:])

    return _Compared(
        model, examples.X, examples.Y, predicted, losses, show, sizes=[len(a) + len(b) for a, b in examples.X],
        names=[f"pair {i + 1}" for i in range(len(losses))],
    )  # fmt: skip


def _wrapped(rows: Sequence[tuple[str, str]], width: int = 80) -> str:
    """Return texts of the same length below each other, in blocks."""
    longest = max(len(text) for _, text in rows)
    blocks = [
        "\n".join(f"{name:<10} {text[at : at + width]}".rstrip() for name, text in rows)
        for at in range(0, longest, width)
    ]
    return "\n\n".join(blocks)


def _sites(model: Any, examples: Any) -> _Compared:
    compared = _labelled_rows(model, examples.X, examples.Y, [str(label) for label in model.predict(examples.X)])
    sites = model.sites(examples.X)

    def show(i: int) -> tuple[list[Table], str]:
        site, (tables, _) = sites[i], compared.show(i)
        marks = " " * site.position + "^" * model.length if site.position >= 0 else ""
        return tables, _wrapped((("", str(examples.X[i])), ("best site", marks)))

    names = [record.name for record in examples.records]
    explain: Callable[[int], str] = lambda i: _explained(model, examples.X[i])  # noqa: E731
    return _Compared(**{**vars(compared), "show": show, "names": names, "explain": explain})


#: Comparison of the examples of a task of the command line.
_TASKS: dict[str, Callable[[Any, Any], _Compared]] = {
    "parser": _dependencies, "grammar": _phrases, "measure": _rows_of, "ranker": _queries, "taxonomy": _rows_of,
    "multilabel": _label_sets, "folder": _folded, "aligner": _aligned, "motif": _sites,
}  # fmt: skip
