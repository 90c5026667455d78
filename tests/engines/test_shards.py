"""Files that workers read give the model of one process, bit for bit, for any number of files and workers."""

import os
import signal
import warnings
from functools import partial
from itertools import chain

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import maxmargin as mm
from maxmargin.engines import shard_worker
from maxmargin.engines.shards import ShardedExamples

WORDS = ["Ana", "met", "Tom", "sings", "in", "Rio", "Oslo", "he", "saw", "Waits", "1999", "today"]


@pytest.fixture(scope="module")
def engine():
    with mm.engines.Processes(2) as engine:
        yield engine


def sentences(n=90, seed=0):
    """Sentences of three columns; the label depends on word and tag, with noise."""
    rng = np.random.default_rng(seed)
    out = []
    for _ in range(n):
        words = rng.choice(WORDS, rng.integers(1, 8))
        tags = ["N" if w[0].isupper() else "V" for w in words]
        out.append(
            [(w, t, "PER" if t == "N" and rng.random() < 0.8 else "O") for w, t in zip(words, tags, strict=True)]
        )
    return out


def write_columns(folder, n_files, seed=0):
    """Write sentences to files of different sizes; the last one has a label and a word of its own."""
    X = sentences(seed=seed)
    X[-1].append(("Bergen", "N", "LOC"))
    cuts = np.sort(np.random.default_rng(n_files).choice(np.arange(1, len(X)), n_files - 1, replace=False))
    for k, part in enumerate(np.split(np.arange(len(X)), cuts)):
        text = "\n".join("".join(" ".join(token) + "\n" for token in X[i]) for i in part)
        (folder / f"{k:02d}.conll").write_text(text)
    return mm.Files(folder / "*.conll", format="conll")


def write_rows(folder, n_files=3):
    rng = np.random.default_rng(3)
    rows = np.round(rng.normal(size=(150, 6)), 2) * (rng.random((150, 6)) < 0.6)
    rows[100:] = rows[:50]  # equal rows in different files, some with other labels
    labels = (rows[:, 0] + 0.3 * rng.normal(size=150) > 0).astype(int) + (rows[:, 1] > 0.5)
    for k, part in enumerate(np.array_split(np.arange(150), n_files)):
        lines = [f"{labels[i]} " + " ".join(f"{f + 1}:{v:g}" for f, v in enumerate(rows[i]) if v) for i in part]
        (folder / f"{k}.svm").write_text("\n".join(lines) + "\n")
    return mm.Files(folder / "*.svm", format="svmlight")


def write_conllu(folder, n_files=3):
    """Sentences with heads and tags: each word's head is the first verb, or the root."""
    rng, lines = np.random.default_rng(5), [[] for _ in range(n_files)]
    for i in range(45):
        words = rng.choice(WORDS, rng.integers(1, 6))
        tags = ["PROPN" if w[0].isupper() else "VERB" for w in words]
        root = tags.index("VERB") + 1 if "VERB" in tags else 1
        rows = [
            f"{k}\t{w}\t_\t{t}\t_\t_\t{0 if k == root else root}\tdep\t_\t_\n"
            for k, (w, t) in enumerate(zip(words, tags, strict=True), 1)
        ]
        lines[i * n_files // 45].append("".join(rows))
    for k, part in enumerate(lines):
        (folder / f"{k}.conllu").write_text("\n".join(part) + "\n")
    return mm.Files(folder / "*.conllu", format="conllu")


TREES = [
    "(S (NP (DT the) (NN cat)) (VP (VBZ sees) (NP (DT a) (NN dog))))",
    "(S (NP (NN cat)) (VP (VBZ sings)))",
    "(S (NP (DT the) (JJ old) (NN dog)) (VP (VBZ sleeps) (PP (IN in) (NP (NN bed)))))",
    "(SINV (VP (VBZ sings)) (NP (DT a) (NN cat)))",
    "(S (NP (NP (DT the) (NN man)) (PP (IN in) (NP (NN town)))) (VP (VBZ sees) (NP (NN cat))))",
]


def write_trees(folder, cuts=(1, 7, 12)):
    lines = [TREES[k] for k in np.random.default_rng(2).integers(0, 4, 15)] + TREES[4:]
    for k, part in enumerate(np.split(np.array(lines), cuts)):
        (folder / f"{k}.mrg").write_text("\n".join(part) + "\n")
    return mm.Files(folder / "*.mrg", format="trees")


def bits(model):
    c = model.certificate_
    return model.coef_.tobytes(), c.primal, c.dual, c.primal_bound, c.oracle_calls, model.stop_reason_


def planes(model):
    return [(p.example, p.output, p.alpha) for p in model.support_ or ()]


TAGGERS = {
    "plain": {},
    "rare names": {"min_count": 3},
    "seen pairs": {"seen_pairs": True},
    "rare names, seen pairs": {"min_count": 2, "seen_pairs": True},
    "slack": {"bound": "slack", "tol": 0.1},
    "ramp": {"bound": "ramp"},
    "bundle": {"solver": "bundle", "tol": 0.05},
    "1-slack": {"solver": "oneslack", "tol": 0.1},
    "subgradient": {"solver": "subgradient", "tol": 0.2},
    "balanced": {"class_weight": "balanced"},
    "searches": {"bound": "slack", "loss": {"PER": 0.7312, "O": 1.1}, "tol": 1e-3, "C": 3.0},
    "no constant": {"fit_intercept": False, "start_end": False},
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("parameters", TAGGERS.values(), ids=TAGGERS)
def test_columns(parameters, engine, tmp_path):
    files = write_columns(tmp_path, 5)
    here = mm.ColumnTagger(**parameters).fit(files)
    there = mm.ColumnTagger(**parameters, engine=engine).fit(files)
    assert bits(here) == bits(there)
    assert list(here.feature_names_out) == list(there.feature_names_out)
    assert list(here.classes_) == list(there.classes_)
    assert planes(here) == planes(there)


@pytest.mark.parametrize("n_files", [1, 2, 17])
def test_any_number_of_files(n_files, engine, tmp_path):
    files = write_columns(tmp_path, n_files)
    assert bits(mm.ColumnTagger().fit(files)) == bits(mm.ColumnTagger(engine=engine).fit(files))


@pytest.mark.parametrize("parameters", [{}, {"min_count": 2}, {"seen_pairs": True}], ids=str)
def test_names_of_other_taggers(parameters, engine, tmp_path):
    """Names of features by first occurrence; a name may occur twice in a token."""
    write_columns(tmp_path, 4)
    files = mm.Files(tmp_path / "*.conll", format="conll", columns=(0, 1, 1))
    here = mm.SequenceTagger(**parameters).fit(files)
    there = mm.SequenceTagger(**parameters, engine=engine).fit(files)
    assert bits(here) == bits(there)
    assert list(here.feature_names_out) == list(there.feature_names_out)


def test_own_templates(engine, tmp_path):
    files = write_columns(tmp_path, 3)
    own = mm.ColumnTagger(templates=own_templates)
    assert bits(clone(own).fit(files)) == bits(clone(own).set_params(engine=engine).fit(files))


def own_templates(sentence):
    return [(token[0].lower(), token[1], f"{token[1]} {t == 0}") for t, token in enumerate(sentence)]


def test_sample_weights(engine, tmp_path):
    files = write_columns(tmp_path, 3)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 90)
    here, there = mm.ColumnTagger().fit(files, sample_weight=weights), mm.ColumnTagger(engine=engine)
    assert bits(here) == bits(there.fit(files, sample_weight=weights))
    weights[7] = 0.0
    with pytest.raises(ValueError, match=r"sample_weight\[7\] is 0: workers that read files cannot leave examples out"):
        there.fit(files, sample_weight=weights)


ROWS = {"plain": {}, "balanced": {"class_weight": "balanced"}, "bundle": {"solver": "bundle", "tol": 0.05},
        "slack": {"bound": "slack"}}  # fmt: skip


@pytest.mark.parametrize("parameters", ROWS.values(), ids=ROWS)
def test_rows(parameters, engine, tmp_path):
    files = write_rows(tmp_path)
    here = mm.MulticlassSVM(**parameters).fit(files)
    there = mm.MulticlassSVM(**parameters, engine=engine).fit(files)
    assert bits(here) == bits(there)
    assert here.n_features_in_ == there.n_features_in_
    assert planes(here) == planes(there)


PARSERS = {"plain": {}, "rare features": {"min_count": 3}, "projective": {"projective": True}}


@pytest.mark.parametrize("parameters", PARSERS.values(), ids=PARSERS)
def test_dependency_trees(parameters, engine, tmp_path):
    files = write_conllu(tmp_path)
    here = mm.DependencyParser(**parameters, tol=1e-3).fit(files)
    there = mm.DependencyParser(**parameters, tol=1e-3, engine=engine).fit(files)
    assert bits(here) == bits(there)
    assert list(here.feature_names_out) == list(there.feature_names_out)
    assert planes(here) == planes(there)
    with pytest.raises(TypeError, match=r"labelled=True needs the data of all files"):
        mm.DependencyParser(labelled=True, engine=engine).fit(files)


GRAMMARS = {"plain": {}, "rare words": {"min_count": 2}, "parents": {"parent_annotation": True, "horizontal": 0},
            "bundle": {"solver": "bundle", "tol": 0.1}}  # fmt: skip


@pytest.mark.parametrize("parameters", GRAMMARS.values(), ids=GRAMMARS)
def test_trees(parameters, engine, tmp_path):
    files = write_trees(tmp_path)
    here = mm.ConstituencyParser(**parameters).fit(files)
    there = mm.ConstituencyParser(**parameters, engine=engine).fit(files)
    assert here.rules_ == there.rules_
    assert bits(here) == bits(there)
    assert list(here.feature_names_out) == list(there.feature_names_out)
    assert planes(here) == planes(there)


def write_pairs(folder, n_files=3, n=26):
    """Aligned pairs of related sequences, some letters of which are in lower case (columns that are not reliable)."""
    rng, records = np.random.default_rng(8), []
    for _ in range(n):
        rows = rng.choice(list("ACGT"), (2, rng.integers(6, 14)))
        same = rng.random(rows.shape[1]) < 0.7
        rows[1, same] = rows[0, same]
        rows[rng.random(rows.shape) < 0.1] = "-"
        rows[0, 0], rows[1, 0] = "A", "A"
        rows = rows[:, (rows != "-").any(axis=0)]
        weak = rng.random(rows.shape[1]) < 0.2
        weak[0] = False
        texts = ["".join(c.lower() if low else c for c, low in zip(row, weak, strict=True)) for row in rows]
        records.append("".join(f">{k}\n{text[:7]}\n{text[7:]}\n" for k, text in enumerate(texts)))
    for k, part in enumerate(np.array_split(np.array(records), n_files)):
        (folder / f"{k}.fasta").write_text("".join(part))
    return mm.Files(folder / "*.fasta", format="fasta")


ALIGNERS = {
    "defaults": {}, "q4, semiglobal": {"loss": "q4", "mode": "semiglobal", "features": "simple"},
    "local, reliable": {"mode": "local", "core": True, "features": "simple", "C": 0.1},
    "matrix": {"prior": np.zeros(17), "features": "simple", "bound": "margin"},
    "few pairs": {"window": 1, "symmetric": False},
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:weights learnt from other pairs", "ignore:the weights learnt are worse")
@pytest.mark.parametrize("case", ALIGNERS)
def test_pairs(case, engine, tmp_path):
    files = write_pairs(tmp_path, n=12 if case == "few pairs" else 26)
    aligner = mm.PairwiseAligner(alphabet="ACGT", tol=0.1, random_state=1).set_params(**ALIGNERS[case])
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 26) if case == "q4, semiglobal" else None
    here = clone(aligner).fit(files, sample_weight=weights)
    there = clone(aligner).set_params(engine=engine).fit(files, sample_weight=weights)
    assert bits(here) == bits(there) and planes(here) == planes(there)
    assert here.held_out_losses_ == there.held_out_losses_
    assert len(here.held_out_losses_) == {"few pairs": 0, "matrix": 0}.get(case, 4)
    assert (here.C_, here.prior_scale_) == (there.C_, there.prior_scale_)
    pieces = mm.Files(merged(tmp_path, "*.fasta"), format="fasta", split=60)
    assert len(pieces.parts()) > 3
    assert bits(here) == bits(clone(aligner).set_params(engine=engine).fit(pieces, sample_weight=weights))


def test_groups_of_pairs_in_shards(engine, tmp_path):
    files, groups = write_pairs(tmp_path), np.arange(26) % 5
    aligner = mm.PairwiseAligner(alphabet="ACGT", features="simple", tol=0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        here = clone(aligner).fit(files, groups=groups)
        there = clone(aligner).set_params(engine=engine).fit(files, groups=groups)
    assert bits(here) == bits(there) and here.held_out_losses_ == there.held_out_losses_
    with pytest.raises(ValueError, match="groups has 25 entries but X has 26 examples"):
        aligner.set_params(engine=engine).fit(files, groups=groups[1:])


def annotated_pairs():
    X = [(("ACGT", {"helix": "HHCC"}), ("ACT", {"helix": "HHC"}))] * 3
    return X, [("ACGT", "AC-T")] * 3


def test_annotations_of_sequences_need_all_data(engine):
    parts = mm.Partitions([annotated_pairs, annotated_pairs])
    aligner = mm.PairwiseAligner(alphabet="ACGT", features="simple")
    assert len(aligner.fit(parts).coef_) > 18
    with pytest.raises(TypeError, match="Alignment with annotated sequences learns from all data in one process"):
        aligner.set_params(engine=engine).fit(parts)


def merged(folder, pattern):
    """Write the files of a folder as one, outside of it."""
    parts = [path.read_text() for path in sorted(folder.glob(pattern))]
    whole = folder.parent / f"whole{pattern[1:]}"
    whole.write_text(("\n" if pattern in ("*.conll", "*.conllu") else "").join(parts))
    return whole


LARGE = {
    "conll": (partial(write_columns, n_files=3), mm.ColumnTagger()), "svmlight": (write_rows, mm.MulticlassSVM()),
    "conllu": (write_conllu, mm.DependencyParser(tol=1e-3)), "trees": (write_trees, mm.ConstituencyParser()),
}  # fmt: skip


@pytest.mark.parametrize("format", LARGE)
def test_one_large_file_is_read_in_pieces(format, engine, tmp_path):
    write, model = LARGE[format]
    (tmp_path / "parts").mkdir()
    pattern = "*.svm" if format == "svmlight" else "*.mrg" if format == "trees" else f"*.{format}"
    write(tmp_path / "parts")
    whole = merged(tmp_path / "parts", pattern)
    here = clone(model).fit(mm.Files(whole, format=format))
    size = whole.stat().st_size
    for split, least in ((size // 3, 3), (max(size // 15, 40), 7)):
        files = mm.Files(whole, format=format, split=split)
        assert len(files.parts()) >= least
        there = clone(model).set_params(engine=engine).fit(files)
        assert bits(here) == bits(there) and planes(here) == planes(there)
    assert len(mm.Files(whole, format=format).parts()) == 1


def test_errors_of_pieces_name_the_line_of_the_file(engine, tmp_path):
    (tmp_path / "parts").mkdir()
    write_columns(tmp_path / "parts", 3)
    whole = merged(tmp_path / "parts", "*.conll")
    known = dict(classes=["O", "PER"])
    messages = []
    for where in (None, engine):
        with pytest.raises(
            mm.exceptions.ExampleError, match=r"whole.conll:\d+: Y\[89\], position \d+: unknown"
        ) as error:
            mm.ColumnTagger(**known, engine=where).fit(mm.Files(whole, format="conll", split=500))
        messages.append(str(error.value))
    assert messages[0] == messages[1]
    with whole.open("a") as file:
        file.write("\nAna N PER\nTom N\n")
    line = whole.read_text().count("\n")
    for where in (None, engine):
        with pytest.raises(
            mm.exceptions.FormatError, match=rf"whole.conll:{line}: expected 3 columns as on line 1, found 2"
        ):
            mm.ColumnTagger(engine=where).fit(mm.Files(whole, format="conll", split=500))


def test_this_process_has_no_examples(engine, tmp_path, monkeypatch):
    """Examples of small batches are fetched, but never those of a sweep."""
    monkeypatch.setattr("maxmargin.formats.files.Files.read", None)
    found, largest = [], []
    original = ShardedExamples._answer_here

    def fetch(self, question, ids, *rest):
        largest.append(len(ids))
        return original(self, question, ids, *rest)

    monkeypatch.setattr(ShardedExamples, "_answer_here", fetch)
    model = mm.ColumnTagger(engine=engine, callbacks=lambda step: found.append(step.certificate.gap))
    files = write_columns(tmp_path, 3)
    model.fit(files)
    assert model.certificate_.gap <= model.tol
    assert max(largest) <= 64


def kill_in(engine, step_to_kill, killed):
    def kill(step):
        if step.iteration == step_to_kill and not killed:
            killed.append(engine.worker_ids()[0])
            os.kill(killed[0], signal.SIGKILL)

    return kill


@pytest.mark.parametrize("write", [write_columns, write_rows])
def test_the_shards_of_a_worker_that_is_killed_are_read_again(write, tmp_path):
    files = write(tmp_path, 4)
    model = mm.ColumnTagger(tol=1e-3) if write is write_columns else mm.MulticlassSVM(tol=1e-4)
    here, killed = clone(model).fit(files), []
    with mm.engines.Processes(2) as engine:
        there = model.set_params(engine=engine, callbacks=kill_in(engine, 3, killed)).fit(files)
        assert killed and killed[0] not in engine.worker_ids()
    assert bits(here) == bits(there)


def test_a_fit_continues_from_a_checkpoint(engine, tmp_path):
    (tmp_path / "data").mkdir()
    files, path = write_columns(tmp_path / "data", 3), tmp_path / "fit.npz"
    stop = [lambda step: step.iteration == 3]
    checkpoint = mm.Checkpoint(path, every=0.0)
    mm.ColumnTagger(engine=engine, tol=1e-3, checkpoint=checkpoint, callbacks=stop).fit(files)
    resumed = mm.ColumnTagger(engine="processes", n_jobs=2, tol=1e-3).fit(files, resume=path)
    assert resumed.n_iter_ > 3
    assert resumed.coef_.tobytes() == mm.ColumnTagger(tol=1e-3).fit(files).coef_.tobytes()
    (tmp_path / "data" / "01.conll").write_text("Ana N PER\n")
    with pytest.raises(ValueError, match="belongs to another run"):
        mm.ColumnTagger(engine=engine, tol=1e-3).fit(files, resume=path)


BAD = {
    "columns": ("Ana N PER\nsings V O\n\nTom PER\n", r"01.conll:4: expected 3 columns"),
    "other columns": ("Ana PER\n", r"01.conll:1: expected 3 columns as in .*00.conll, found 2"),
    "empty": ("\n", r"01.conll: expected a line of columns for each token, found no tokens"),
}


@pytest.mark.parametrize("case", BAD)
def test_errors_name_the_file(case, engine, tmp_path):
    files = write_columns(tmp_path, 3)
    text, message = BAD[case]
    (tmp_path / "01.conll").write_text(text)
    for where in (None, engine):
        with pytest.raises(mm.exceptions.FormatError, match=message):
            mm.ColumnTagger(engine=where).fit(files)


def test_errors_about_examples_name_file_and_number(engine, tmp_path):
    files = write_columns(tmp_path, 3)
    messages = []
    for where in (None, engine):
        with pytest.raises(
            mm.exceptions.ExampleError, match=r"conll:\d+: Y\[\d+\], position \d+: unknown label"
        ) as error:
            mm.ColumnTagger(classes=["O", "PER"], engine=where).fit(files)
        messages.append(str(error.value))
    assert messages[0] == messages[1]


@pytest.mark.parametrize("parameters", [{"temperature": "auto"}, {"solver": "minmax"}], ids=str)
def test_what_needs_all_data_is_refused(parameters, engine, tmp_path):
    with pytest.raises(TypeError, match=r"use .*engine='threads'"):
        mm.ColumnTagger(**parameters, engine=engine).fit(write_columns(tmp_path, 2))


def test_workers_write_predictions_of_files(engine, tmp_path):
    files = write_columns(tmp_path, 4)
    model = mm.ColumnTagger(columns=(0, 1), label_column=2).fit(files)
    here = model.predict_files(tmp_path / "*.conll", to=tmp_path / "here")
    there = model.set_params(engine=engine).predict_files(tmp_path / "*.conll", to=tmp_path / "there")
    assert [path.read_text() for path in here] == [path.read_text() for path in there]
    (tmp_path / "02.conll").write_text("Ana N PER\nTom N\n")
    with pytest.raises(mm.exceptions.FormatError, match=r"02\.conll:2: expected 3 columns"):
        model.predict_files(tmp_path / "*.conll", to=tmp_path / "again")
    assert "02.conll" not in {path.name for path in (tmp_path / "again").iterdir()}


@pytest.mark.parametrize("bound", ["likelihood", "softmax-margin"])
def test_sums_over_outputs_come_from_workers(bound, engine, tmp_path, monkeypatch):
    """With the data here, bits are those of threads; in shards those of any number of workers."""
    files = write_columns(tmp_path, 4)
    X, Y = mm.datasets.make_chains(60, random_state=0)
    plain = bits(mm.SequenceTagger(bound=bound).fit(X, Y))
    alone = mm.ColumnTagger(bound=bound, tol=1e-4).fit(files)
    with mm.engines.Processes(3) as three:
        there = mm.ColumnTagger(bound=bound, tol=1e-4, engine=three).fit(files)
    assert np.isclose(there.certificate_.primal, alone.certificate_.primal, rtol=1e-3)
    assert there.certificate_.gap <= 1e-4
    monkeypatch.setattr("maxmargin.structures.chain.examples.ChainExamples.sums", None)  # in this process
    assert bits(mm.SequenceTagger(bound=bound, engine=engine).fit(X, Y)) == plain
    assert bits(mm.ColumnTagger(bound=bound, tol=1e-4, engine=engine).fit(files)) == bits(there)


def test_decisions_of_least_risk_are_checked(engine, tmp_path):
    files = write_columns(tmp_path, 2)
    with pytest.raises(ValueError, match="not a sum over tokens"):
        mm.ColumnTagger(loss="zero-one", decode="risk", engine=engine).fit(files)


def write_parquet(folder, columns=("a", "b", "c")):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed: pip install 'maxmargin[parquet]'")
    pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'maxmargin[parquet]'")
    rng = np.random.default_rng(0)
    table = pandas.DataFrame(np.round(rng.normal(size=(90, 3)), 1), columns=columns)
    table["kind"] = np.where(table[columns[0]] + 0.3 * rng.normal(size=90) > 0, "yes", "no")
    for k, rows in enumerate(np.array_split(np.arange(90), 3)):
        table.iloc[rows].to_parquet(folder / f"{k}.parquet", row_group_size=7)
    return table


def test_parquet(engine, tmp_path):
    table = write_parquet(tmp_path)
    files = mm.Files(tmp_path / "*.parquet", format="parquet", target="kind")
    here = mm.MulticlassSVM().fit(files)
    assert bits(here) == bits(mm.MulticlassSVM(engine=engine).fit(files))
    groups = mm.Files(tmp_path / "*.parquet", format="parquet", target="kind", split=500)
    assert len(groups.parts()) > 6 and bits(here) == bits(mm.MulticlassSVM(engine=engine).fit(groups))
    assert list(here.classes_) == ["no", "yes"]
    assert here.score(table[["a", "b", "c"]].to_numpy(), table["kind"]) > 0.8
    some = mm.Files(tmp_path / "*.parquet", format="parquet", target="kind", columns=["b"])
    assert mm.MulticlassSVM(engine=engine).fit(some).n_features_in_ == 1
    table.iloc[:9].rename(columns={"b": "d"}).to_parquet(tmp_path / "1.parquet")
    for where in (None, engine):
        with pytest.raises(ValueError, match=r"1.parquet: expected the columns a, b, c as in .*, found.* a, d, c"):
            mm.MulticlassSVM(engine=where).fit(files)
    with pytest.raises(TypeError, match="need target="):
        mm.Files(tmp_path / "*.parquet", format="parquet")
    with pytest.raises(ValueError, match="expected a column 'none', the labels, found a, b, c, kind"):
        mm.MulticlassSVM().fit(mm.Files(tmp_path / "0.parquet", format="parquet", target="none"))


def chains_of(seed):
    X = [[(word, tag) for word, tag, _ in x] for x in sentences(20, seed)]
    return X, [[label for _, _, label in x] for x in sentences(20, seed)]


def test_partitions_by_functions(engine):
    parts = mm.Partitions([partial(chains_of, seed) for seed in range(3)])
    whole = [list(chain.from_iterable(lists)) for lists in zip(*map(chains_of, range(3)), strict=True)]
    there = mm.ColumnTagger(engine=engine).fit(parts)
    assert bits(mm.ColumnTagger().fit(*whole)) == bits(there) == bits(mm.ColumnTagger().fit(parts))
    with pytest.raises(ValueError, match="partition 1 is empty"):
        mm.ColumnTagger(engine=engine).fit(mm.Partitions([partial(chains_of, 0), lambda: ([], [])]))
    with pytest.raises(ValueError, match="data must be a Dask bag or data frame, a Ray dataset or a list of functions"):
        mm.Partitions([1, 2])


def test_a_time_limit_ends_a_fit_in_shards(tmp_path):
    files = write_columns(tmp_path, 3)
    with mm.engines.Processes(2) as engine, pytest.warns(ConvergenceWarning, match="max_seconds"):
        model = mm.ColumnTagger(engine=engine, max_seconds=0.2, tol=1e-12).fit(files)
    assert model.stop_reason_ == "max_seconds"
    assert model.certificate_.dual <= model.certificate_.primal


def test_shards_are_released(engine, tmp_path):
    """Workers that serve several fits keep nothing of those that have ended."""
    files = write_columns(tmp_path, 3)
    mm.ColumnTagger(engine=engine).fit(files)
    with pytest.raises(mm.exceptions.ExampleError):
        mm.ColumnTagger(classes=["O", "PER"], engine=engine).fit(files)
    (tmp_path / "01.conll").write_text("Ana PER\n")
    with pytest.raises(mm.exceptions.FormatError):
        mm.ColumnTagger(engine=engine).fit(files)
    assert list(engine.gather([0, 1], lambda k: (n_held,))) == [0, 0]


def n_held():
    return len(shard_worker._held)


def test_features_of_workers_may_be_mapped(engine, tmp_path):
    (tmp_path / "mapped").mkdir()
    files = write_columns(tmp_path, 3)
    mapped = mm.Files(tmp_path / "*.conll", format="conll", memory=tmp_path / "mapped")
    assert bits(mm.ColumnTagger(engine=engine).fit(mapped)) == bits(mm.ColumnTagger().fit(files))
