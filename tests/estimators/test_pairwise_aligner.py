"""PairwiseAligner and the aligners it is compared with."""

import gzip
import sys
import warnings

import numpy as np
import pytest

import maxmargin as mm
from maxmargin.estimators.held_out import HeldOut
from maxmargin.exceptions import FormatError, InexactArgmaxWarning

AMINO = "ACDEFGHIKLMNPQRSTVWY"


def relatives(n=20, length=25, seed=0, letters=AMINO):
    """Pairs of sequences with substituted, lost and added letters, and their alignments."""
    rng = np.random.default_rng(seed)
    X, Y = [], []
    for _ in range(n):
        rows = ["", ""]
        for letter in rng.choice(list(letters), length):
            kind = rng.random()
            other = rng.choice(list(letters)) if kind < 0.2 else letter
            rows[0] += "-" if kind > 0.95 else letter
            rows[1] += "-" if 0.9 < kind <= 0.95 else other
        X.append(tuple(row.replace("-", "") for row in rows))
        Y.append(tuple(rows))
    return X, Y


X, Y = relatives()
#: The convex problem of pairs of letters and gaps alone, whose optimum is known.
PLAIN = {"features": "simple", "bound": "margin", "prior": None, "C": 1.0}


@pytest.fixture(scope="module")
def aligner():
    return mm.PairwiseAligner(**PLAIN).fit(X, Y)


# ---------------------------------------------------------------------- defaults


def remote(n, seed, letters=AMINO):
    """Pairs whose true alignments cannot all be explained by letters, as those of structures are."""
    rng = np.random.default_rng(seed)
    similar = {c: letters[(k + 1) % len(letters)] for k, c in enumerate(letters)}
    X, Y = [], []
    for i in range(n):
        noise = 0.95 if i % 2 else 0.6
        rows = ["", ""]
        for letter in rng.choice(list(letters), 60):
            kind = rng.random()
            other = rng.choice(list(letters)) if rng.random() < noise else similar[letter]
            rows[0] += "-" if kind > 0.95 else letter
            rows[1] += "-" if 0.9 < kind <= 0.95 else other
        X.append(tuple(row.replace("-", "") for row in rows))
        Y.append(tuple(rows))
    return X, Y


@pytest.mark.parametrize("letters", ["ACGT", "ACDEFGHI"])
def test_defaults_are_no_worse_than_log_odds(letters):
    test = remote(60, 1, letters)
    odds = mm.LogOddsAligner(alphabet=letters).fit(*remote(40, 0, letters))
    model = mm.PairwiseAligner(alphabet=letters).fit(*remote(40, 0, letters))
    assert model.score(*test) > odds.score(*test) - 0.01
    assert pytest.approx(model.prior_scale_**2) == model.C_
    assert set(model.held_out_losses_) == {"prior", "scale 0.01", "scale 0.02", "scale 0.04"}
    best = min((loss, name) for name, loss in model.held_out_losses_.items() if name != "prior")
    assert best[1] == f"scale {model.prior_scale_:g}" and best[0] <= model.held_out_losses_["prior"]
    convex = mm.PairwiseAligner(alphabet=letters, **(PLAIN | {"C": 0.01})).fit(*remote(40, 0, letters))
    assert model.score(*test) > convex.score(*test) - 0.02


def test_learning_that_does_not_help_keeps_the_prior(monkeypatch):
    found = HeldOut(np.array([0.5, 0.4, 0.6]), 0.3, np.zeros(3))
    monkeypatch.setattr("maxmargin.estimators.biology.pairwise_aligner.held_out_losses", lambda *_: found)
    with pytest.warns(
        UserWarning, match=r"held-out pairs \(mean loss 0.400\) than their prior \(0.300\), so the model is"
    ):
        model = mm.PairwiseAligner().fit(X, Y)
    assert model.held_out_losses_ == {"prior": 0.3, "scale 0.01": 0.5, "scale 0.02": 0.4, "scale 0.04": 0.6}
    odds = mm.LogOddsAligner().fit(X, Y)
    learnt, expected = (m.structure_.substitution_weights(m.coef_) for m in (model, odds))
    np.testing.assert_allclose(learnt, 0.02 * expected, atol=1e-6)
    np.testing.assert_allclose(model.coef_[-2:], 0.02 * odds.coef_[-2:], rtol=1e-3)
    with pytest.warns(UserWarning, match=r"than their prior \(0.300\): choose another C, or C='auto'"):
        mm.PairwiseAligner(C=0.01).fit(X, Y)
    found = found._replace(prior=0.45)
    better = mm.PairwiseAligner().fit(X, Y)
    assert (better.prior_scale_, better.C_) == (0.02, 0.0004)
    assert np.abs(better.coef_ - model.coef_).max() > 1e-4


def test_a_fit_that_is_worse_than_its_prior_says_so():
    """The convex bound of pairs that letters cannot explain prefers weights of 0."""
    X, Y = remote(30, 0, "ACDE")
    poor = {"alphabet": "ACDE", "bound": "margin", "prior": {"matrix": "log-odds", "scale": 1.0}, "C": 1.0, "tol": 0.1}
    with pytest.warns(UserWarning, match=r"worse than their prior, on the training pairs: mean loss .*'auto' for both"):
        mm.PairwiseAligner(features="simple", **poor).fit(X, Y)


def test_groups_are_not_divided_between_folds():
    from maxmargin.estimators.held_out import related_folds

    members = [("a", "b"), ("c", "d"), ("b", "e"), ("f", "f"), ("e", "g"), ("h", "i")]
    folds = related_folds(members, 3)
    assert sorted(np.concatenate(folds).tolist()) == list(range(6))
    assert [0, 2, 4] in [fold.tolist() for fold in folds]
    assert len(related_folds([("a",)] * 5, 3)) == 1
    one = mm.PairwiseAligner().fit(X, Y, groups=["family"] * len(X))
    assert one.held_out_losses_ == {} and one.prior_scale_ == 0.02
    with pytest.raises(ValueError, match="groups has 2 entries but X has 20 examples"):
        mm.PairwiseAligner().fit(X, Y, groups=["a", "b"])


def test_choices_are_saved(tmp_path):
    model = mm.PairwiseAligner(window=1).fit(X, Y)
    model.save(tmp_path / "a.mm")
    again = mm.load(tmp_path / "a.mm")
    assert (again.C_, again.prior_scale_) == (model.C_, model.prior_scale_)
    assert again.held_out_losses_ == model.held_out_losses_
    path = mm.regularization_path(mm.PairwiseAligner(window=1), X, Y, [1e-4, 1e-3])
    assert [one.C_ for one in path] == [1e-4, 1e-3]
    assert {one.prior_scale_ for one in path} == {model.prior_scale_}


def test_learns_to_align(aligner):
    test = relatives(seed=1)
    assert aligner.certificate_.proven_gap <= 0.01
    assert aligner.score(*test) > 0.9
    assert aligner.gap_open_ < 0
    matrix = aligner.structure_.substitution_weights(aligner.coef_)[:-1, :-1]
    assert np.diag(matrix).mean() > 5 * abs(matrix[~np.eye(20, dtype=bool)].mean())


@pytest.mark.parametrize("mode", ["global", "local", "semiglobal"])
@pytest.mark.parametrize("loss", ["recall", "q4", "precision", "columns"])
def test_every_mode_and_loss(mode, loss):
    model = mm.PairwiseAligner(mode, loss=loss, C=1.0, tol=0.05).fit(X[:8], Y[:8])
    found = model.predict(X)
    for (a, b), (first, second) in zip(found, X, strict=True):
        assert (a.replace("-", ""), b.replace("-", "")) == (first, second)
    assert model.score(X, Y) > 0.8
    for x in [("", ""), ("", "ACD"), ("ACD", ""), ("A", "A"), ("A", "C")]:
        ((a, b),) = model.predict([x])
        assert (a.replace("-", ""), b.replace("-", "")) == x
        assert len(a) == len(b)


@pytest.mark.parametrize("bound", ["slack", "ramp"])
def test_other_bounds(bound):
    plain = PLAIN | {"C": 0.1, "bound": bound}
    with warnings.catch_warnings():
        if bound == "slack":  # whose argmax is a search, which the limit of steps may leave unproven
            warnings.simplefilter("ignore", InexactArgmaxWarning)
        model = mm.PairwiseAligner(**plain, tol=0.1, max_iter=40).fit(X[:6], Y[:6])
    assert model.score(X, Y) > 0.7


def test_the_k_best_alignments(aligner):
    ranked = aligner.topk(X[0], 5)
    scores = [score for _, score in ranked]
    assert scores == sorted(scores, reverse=True)
    assert len({output for output, _ in ranked}) == 5
    assert ranked[0][0] == aligner.predict([X[0]])[0]
    for output, score in ranked:
        assert aligner.coef_ @ aligner.structure_.joint_feature(X[0], output) == pytest.approx(score)


def test_score_is_recall_or_q4(aligner):
    x, true = ("ACDEF", "ACDEF"), ("ACDEF-", "-ACDEF")
    assert mm.metrics.alignment_recall([true], [("ACDEF", "ACDEF")]) == [0.0]
    assert mm.metrics.q_score([true], [("ACDEF", "ACDEF")], tolerance=1) == [1.0]
    assert aligner.predict([x]) == [("ACDEF", "ACDEF")]
    assert aligner.score([x], [true]) == 0.0
    shifty = mm.PairwiseAligner(loss="q4", tolerance=1, C=1.0).fit(X, Y)
    assert shifty.score([x], [true]) == 1.0
    assert aligner.score([x, x], [true, x], sample_weight=[1, 3]) == 0.75
    assert mm.metrics.alignment_precision([("ACD", "A-D")], [("ACD", "AD-")]) == [0.5]


def test_annotations_change_alignments():
    """Positions are matched by structure where letters say nothing."""
    rng = np.random.default_rng(0)
    pairs, truths = [], []
    for _ in range(12):
        kinds = "".join(rng.choice(list("HEC"), 12))
        kept = rng.random(12) < 0.8
        shown = "".join("A" if k else "-" for k in kept)
        other = "".join(c for c, k in zip(kinds, kept, strict=True) if k)
        pairs.append(({"sequence": "A" * 12, "ss": kinds}, ("A" * len(other), [{"ss": c} for c in other])))
        truths.append(("A" * 12, shown))
    with_kinds = mm.PairwiseAligner(C=1.0, features="window", window=1).fit(pairs[:8], truths[:8])
    letters = [("A" * 12, second[0]) for _, second in pairs]
    without = mm.PairwiseAligner(C=1.0, features="window", window=1).fit(letters[:8], truths[:8])
    assert with_kinds.score(pairs[8:], truths[8:]) > 0.7 > without.score(letters[8:], truths[8:])
    unknown = {"sequence": "AAAA", "ss": "HHZ?"}
    assert len(with_kinds.predict([(unknown, {"sequence": "AA", "ss": None})])) == 1


def test_numbers_and_profiles_as_annotations():
    rng = np.random.default_rng(0)

    def record(text):
        profile = np.eye(20)[["ACDEFGHIKLMNPQRSTVWY".index(c) for c in text]] + 0.1 * rng.random((len(text), 20))
        return {"sequence": text, "profile": profile, "accessibility": rng.random(len(text))}

    pairs = [tuple(map(record, x)) for x in X[:8]]
    model = mm.PairwiseAligner(features="profile", C=0.1, window=1).fit(pairs, Y[:8])
    assert model.score(pairs, Y[:8]) > 0.9
    assert "profile 0 × profile 19" in model.feature_names_out
    with pytest.raises(
        ValueError, match=r"X\[0\], first sequence: no annotation 'profile', which other sequences have"
    ):
        model.predict([X[0]])
    pairs[0][1]["profile"] = pairs[0][1]["profile"][:, :19]
    with pytest.raises(
        ValueError, match=r"X\[0\], second sequence: 'profile' has shape \(\d+, 19\), expected 20 columns"
    ):
        model.predict(pairs[:1])


def test_substitution_matrices(aligner):
    start = mm.PairwiseAligner(features="simple", prior={"scale": 0.1}, C=1e-9).fit(X, Y)
    matrix = start.substitution_matrix()
    assert matrix["W", "W"] == pytest.approx(1.1, abs=1e-3)
    assert (start.gap_open_, start.gap_extend_) == pytest.approx((-1.1, -0.1), abs=1e-3)
    learnt = {"matrix": aligner.substitution_matrix(), "scale": 2.0}
    again = mm.PairwiseAligner(features="simple", prior=learnt, C=1e-9).fit(X, Y)
    found, expected = (np.asarray(model.substitution_matrix(), float) for model in (again, aligner))
    np.testing.assert_allclose(found, 2.0 * expected, atol=1e-3)


@pytest.mark.parametrize("mode", ["global", "local", "semiglobal"])
def test_scores_are_those_of_biopython(mode):
    """Where extending a gap is at least as good as opening it, which Biopython requires."""
    prior = {"open": -8.0, "extend": -2.0}
    model = mm.PairwiseAligner(mode, "simple", prior=prior, C=1e-9).fit(X[:4], Y[:4])
    peer = model.biopython_aligner()
    for x in [*relatives(10, 40, seed=3)[0], ("ACXD", "ACD")]:
        ((_, score),) = model.topk(x, 1)
        assert peer.score(*x) == pytest.approx(score, abs=1e-6)


def test_alignments_of_biopython(aligner):
    from Bio.Seq import Seq
    from Bio.SeqRecord import SeqRecord

    for mode in ("global", "local"):
        model = mm.PairwiseAligner(mode, C=1.0).fit(X, Y)
        for x, found, pair in zip(X, model.predict_alignments(X), model.predict(X), strict=True):
            assert tuple(map(str, found.sequences)) == x
            core = mm.PairwiseAligner(mode, C=1.0).fit([x], [found]).structure_.code_of(found, "y")
            np.testing.assert_array_equal(core[2:], model.structure_.code_of(pair, "y")[2:])
    records = [(SeqRecord(Seq(a)), Seq(b)) for a, b in X]
    assert aligner.predict(records) == aligner.predict(X)


def test_fasta_files(tmp_path, aligner):
    path = tmp_path / "pairs.afa.gz"
    text = "".join(f">{i} a\n{a[:10]}\n{a[10:]}\n>{i} b\n{b}\n\n" for i, (a, b) in enumerate(Y))
    path.write_bytes(gzip.compress(text.encode()))
    assert mm.formats.read_aligned_fasta(path) == (X, Y)
    np.testing.assert_array_equal(mm.PairwiseAligner(**PLAIN).fit(path).coef_, aligner.coef_)
    assert aligner.predict(path) == aligner.predict(X)
    assert aligner.score(str(path)) == aligner.score(X, Y)
    odd = tmp_path / "odd.fa"
    odd.write_text(">a\nAC\n>b\nA\n>c\nA\n")
    with pytest.raises(FormatError, match="expected pairs of records, found 3 records"):
        aligner.predict(odd)
    odd.write_text(">a\nAC\n>b\nA\n")
    with pytest.raises(FormatError, match=r":1: this record and the next one have lengths 2 and 1"):
        aligner.fit(odd)
    odd.write_text("AC\n>b\nA\n")
    with pytest.raises(FormatError, match=r"odd\.fa:1: expected a line that begins"):
        mm.formats.read_fasta(odd)


def test_local_alignments_of_parts():
    x, part = ("KKKACDEFKKK", "WWACEFWWWW"), ("ACDEF", "AC-EF")
    model = mm.PairwiseAligner("local", C=10.0).fit([x], [part])
    whole = ("KKK--ACDEFKKK----", "---WWAC-EF---WWWW")
    assert mm.PairwiseAligner("local", C=10.0).fit([x], [whole]).coef_.tolist() == model.coef_.tolist()
    assert model.predict([x]) == [whole]
    with pytest.raises(ValueError, match=r"Y\[0\]: the aligned part 'AC' occurs more than once in the first sequence"):
        mm.PairwiseAligner("local").fit([("ACAC", "AC")], [("AC", "AC")])
    with pytest.raises(ValueError, match=r"Y\[0\]: the aligned part 'AW' does not occur in the first sequence"):
        mm.PairwiseAligner("local").fit([("ACAC", "AC")], [("AW", "AC")])


def test_local_alignments_of_nothing():
    X, Y = [("ACDEF", "ACDEF"), ("WWHH", "GGA")], [("ACDEF", "ACDEF"), ("", "")]
    whole = mm.PairwiseAligner("local", C=10.0).fit(X, [Y[0], ("WWHH---", "----GGA")])
    assert mm.PairwiseAligner("local", C=10.0).fit(X, Y).coef_.tolist() == whole.coef_.tolist()
    assert whole.coef_.any()


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (("AC*", "AC"), ("AC*", "AC-"), r"X\[1\], first sequence, position 2: character '\*' is not in the alphabet"),
        (("ACD", "AC"), ("ACD", "AC"), r"Y\[1\]: aligned strings of lengths 3 and 2"),
        (("ACD", "AC"), ("ACE", "AC-"), r"Y\[1\]: the alignment has 'E' as letter 2 of the first sequence"),
        (("ACD", "AC"), ("AC-", "AC-"), r"Y\[1\]: the alignment has 2 letters of the first sequence, which has 3"),
        (("ßD", "AC"), ("ßE", "AC"), r"Y\[1\]: the alignment has 'E' as letter 1 of the first sequence"),
        (("A", {"sequence": "A", "residue": "H"}), ("A", "A"), r"X\[1\], second sequence: 'residue' is the name"),
        (("ACD", "AC"), ("AC", "AC"), r"Y\[1\]: the alignment has 2 letters of the first sequence, which has 3"),
        (("ACD", "AC"), "ACD", r"Y\[1\]: expected a pair of aligned strings"),
        (("ACD", "AC"), ("ACD", 3), r"Y\[1\]: expected a pair of aligned strings"),
        (("ACD",), ("ACD", "---"), r"X\[1\]: expected a pair of sequences"),
        ("ACD", ("ACD", "---"), r"X\[1\]: expected a pair of sequences"),
        (("ACD", 7), ("ACD", "---"), r"X\[1\], second sequence: expected a string"),
        (("ACD", {"seq": "A"}), ("ACD", "A--"), r"X\[1\], second sequence: expected a dict with the letters"),
        (("A", {"sequence": "A", "ss": "HH"}), ("A", "A"), r"X\[1\], second sequence: 2 values of 'ss' but 1 letters"),
        (("A", ("A", [{"ss": "H"}] * 2)), ("A", "A"), r"X\[1\], second sequence: 2 rows of annotations but 1 letters"),
        (("A", ("AA", [{"a": 1}, {"b": 1}])), ("A-", "AA"), r"position 0: no value of 'b'"),
        (("A", ("A", np.array([[np.nan, 1]]))), ("A", "A"), r"no annotation 'profile'|must be finite"),
    ],
)
def test_bad_input_names_the_example(x, y, message):
    with pytest.raises(ValueError, match=message):
        mm.PairwiseAligner().fit([("A", "A"), x], [("A", "A"), y])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"mode": "glocal"}, "mode must be 'global', 'local', 'semiglobal', found 'glocal'"),
        ({"features": "all"}, "features must be 'simple'"),
        ({"loss": "f1"}, "loss must be 'recall', 'q4', 'precision', 'columns', found 'f1'"),
        ({"gaps": None}, "gaps must be 'linear', 'affine', found None"),
        ({"tolerance": -1}, "tolerance must be an integer ≥ 0"),
        ({"alphabet": "AC-"}, "alphabet must not contain '-'"),
        ({"alphabet": "AC."}, "alphabet must not contain '.'"),
        ({"prior": {"matrix": "log-odds", "open": "x"}}, r"prior\['open'\] must be a finite number"),
        ({"prior": "BLOSUM99"}, "unknown substitution matrix 'BLOSUM99'"),
        ({"prior": {"gap": 1}}, "prior must be a dict with the keys matrix, open, extend, scale"),
        ({"C": "best"}, 'C must be a number > 0 or "auto", found'),
        ({"prior": {"scale": "best"}}, r"prior\['scale'\] must be a number > 0 or \"auto\""),
        ({"prior": {"open": np.nan}}, r"prior\['open'\] must be a finite number"),
        ({"prior": [1.0]}, "prior has 1 weights, but these data have 233"),
        ({"symmetric": 2}, "symmetric must be 'auto', True or False, found 2"),
        (
            {"core": True, "loss": "columns"},
            "core=True needs a loss of true matches, 'recall' or 'q4', found 'columns'",
        ),
        ({"features": "profile"}, "features='profile' needs an annotation of several columns of numbers"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        mm.PairwiseAligner(**({"features": "simple"} | parameters)).fit(X, Y)


def test_files_contain_their_alignments(tmp_path):
    with pytest.raises(ValueError, match="X is a FASTA file, which contains the alignments"):
        mm.PairwiseAligner().fit(tmp_path / "a.fa", Y)


def test_missing_biopython(monkeypatch):
    monkeypatch.setitem(sys.modules, "Bio.Align", None)
    with pytest.raises(ImportError, match=r"maxmargin\[bio\]"):
        mm.PairwiseAligner(prior="BLOSUM62").fit(X, Y)


def test_unknown_letters_and_case(aligner):
    a, b = aligner.predict([("acdeX", "ACDEX")])[0]
    assert (a, b) == ("acdeX", "ACDEX")


@pytest.mark.parametrize(("alphabet", "letters"), [(AMINO, "BJOUZX"), ("ACGT", "RYSWKMBDHVN"), ("ACGU", "N")])
def test_letters_of_iupac_are_unknown_letters(alphabet, letters):
    model = mm.PairwiseAligner(alphabet=alphabet, C=1.0).fit([("ACGA", "AGA")], [("ACGA", "A-GA")])
    for letter in letters + letters.lower():
        assert model.structure_.argmax(model.coef_, (f"A{letter}C", "AC")) == (f"A{letter}C", "A-C")
        features = model.structure_.joint_feature((letter, letters[-1]), (letter, letters[-1]))
        assert features[model.feature_names_out.tolist().index(f"residue={letters[-1]} ~ residue={letters[-1]}")] == 1


def test_rows_of_multiple_alignments(tmp_path):
    """Dots are gaps, and columns of gaps are left out."""
    from Bio.Seq import Seq

    x, expected = ("ACdeEF", "ACF"), mm.PairwiseAligner(C=1.0).fit([("ACdeEF", "ACF")], [("ACdeEF", "AC---F")]).coef_
    path = tmp_path / "pfam.fa"
    path.write_text(">a/1-6\tfamily\nAC.de-EF\n>b/1-3\nAC...--F\n")
    assert mm.formats.read_aligned_fasta(path)[0] == [x]
    assert mm.formats.read_fasta(path)[0] == ("a/1-6", "AC.de-EF", "family")
    np.testing.assert_array_equal(mm.PairwiseAligner(C=1.0).fit(path).coef_, expected)
    for y in (("AC.de-EF", "AC...--F"), (Seq("ACdeEF"), Seq("AC---F"))):
        np.testing.assert_array_equal(mm.PairwiseAligner(C=1.0).fit([x], [y]).coef_, expected)


def test_writing_records_of_biopython(tmp_path):
    from Bio.Seq import Seq
    from Bio.SeqRecord import SeqRecord

    records = [SeqRecord(Seq("ACD"), id="a", description="a first"), SeqRecord(Seq("AC"), id="b")]
    mm.formats.write_fasta(tmp_path / "a.fa", records)
    assert mm.formats.read_fasta(tmp_path / "a.fa") == [("a", "ACD", "first"), ("b", "AC", "")]
    for bad in ("ACD", ("a",), ("a", 3)):
        with pytest.raises(ValueError, match=r"expected \(name, sequence\)"):
            mm.formats.write_fasta(tmp_path / "a.fa", [bad])


def test_unknown_values_of_annotations():
    """None at single positions is unknown; integers and floats are the same values."""

    def fit(first, second):
        pair = ({"sequence": "ACD", "a": first}, {"sequence": "ACD", "a": second})
        return mm.PairwiseAligner().fit([pair], [("ACD", "ACD")])

    def kind(model):
        return model.structure_.positions_.annotations[0][1:]

    assert kind(fit(["H", None, "E"], "HEC")) == ("classes", ["C", "E", "H"])
    assert kind(fit([1, None, 2], [1, 2, 3])) == ("classes", ["1", "2", "3"])
    assert kind(fit([1.0, None, 2.0], [1, 2, 3]))[0] == "bins"
    assert kind(fit([1, 2, 3], [1.0, 2.0, 3.0]))[0] == "bins"
    whole = fit([1, 2, 3], [1, 2, 3])
    pair = ({"sequence": "A", "a": [2.0]}, {"sequence": "A", "a": [3]})
    names = whole.feature_names_out[whole.structure_.joint_feature(pair, ("A", "A")) != 0].tolist()
    assert "a=2 ~ a=3" in names
    numbers = fit([0.1, 0.2, 0.3], [0.1, 0.2, 0.3])
    with pytest.raises(ValueError, match=r"X\[0\], first sequence: expected numbers as 'a', as in fit, found \['H'\]"):
        numbers.predict([({"sequence": "A", "a": "H"}, {"sequence": "A", "a": [0.1]})])


def test_an_annotation_named_hydrophobicity_is_not_that_of_the_letters():
    rng = np.random.default_rng(0)
    pair = tuple({"sequence": "AACDAACD", "hydrophobicity": "".join(rng.choice(list("xyz"), 8))} for _ in range(2))
    structure = mm.Alignment(features="window", window=1)
    examples = structure.fit_encode([pair], [("AACDAACD", "AACDAACD")])
    w = rng.normal(size=examples.dim)
    for output, score in structure.topk(w, pair, 3):
        assert w @ structure.joint_feature(pair, output) == pytest.approx(score)


def test_empty_sequences_have_profiles_of_any_shape():
    pair = ({"sequence": "ACD", "profile": [[1.0, 2.0]] * 3}, {"sequence": "", "profile": []})
    assert mm.PairwiseAligner(features="profile", prior=None).fit([pair], [("ACD", "---")]).predict([pair]) == [
        ("ACD", "---")
    ]


def test_any_tolerance(aligner):
    model = mm.PairwiseAligner(loss="q4", tolerance=10**12, C=1.0).fit(X[:3], Y[:3])
    assert model.score(X[:3], Y[:3]) == 1.0


@pytest.mark.parametrize("features", ["simple", "window"])
def test_log_odds_as_prior(features):
    """The centre is the generative model of the training pairs, times the scale."""
    odds = mm.LogOddsAligner().fit(X, Y)
    prior = {"matrix": "log-odds", "scale": 0.1}
    start = mm.PairwiseAligner(features=features, prior=prior, C=1e-9).fit(X, Y)
    found = start.structure_.substitution_weights(start.coef_)
    np.testing.assert_allclose(found, 0.1 * odds.structure_.substitution_weights(odds.coef_), atol=1e-6)
    assert start.coef_[-2:] == pytest.approx(0.1 * odds.coef_[-2:], abs=1e-6)
    assert np.abs(start.coef_).sum() == pytest.approx(0.1 * np.abs(odds.coef_).sum(), abs=1e-4)
    assert (start.C_, start.prior_scale_, start.held_out_losses_) == (1e-9, 0.1, {})
    other = {"matrix": "log-odds", "scale": 0.5, "open": -4.0}
    assert mm.PairwiseAligner(prior=other, C=1e-9).fit(X, Y).gap_open_ == pytest.approx(-2.0, abs=1e-6)
    with pytest.raises(ValueError, match="unknown substitution matrix 'log-odds'"):
        mm.DecoyRanker(prior="log-odds").fit([("AC", "AC", ["A"])])


def test_scales_of_matrices_are_those_of_log_odds():
    """λ of BLOSUM62 is 0.3176, so a scale of 0.02 in log odds is 0.00635 in half-bits."""
    pytest.importorskip("Bio")
    model = mm.PairwiseAligner(features="simple", prior="BLOSUM62").fit(X[:5], Y[:5])
    assert model.prior_scale_ == pytest.approx(0.02 * 0.3176, rel=1e-3)
    assert pytest.approx(0.02**2) == model.C_


def test_log_odds_of_amino_acids_begin_with_blosum62():
    align = pytest.importorskip("Bio.Align")
    known = align.substitution_matrices.load("BLOSUM62")
    expected = np.array([[known[a, b] for b in AMINO] for a in AMINO])
    start = mm.LogOddsAligner(background=1e9).fit(X, Y)
    found = start.structure_.substitution_weights(start.coef_)[:20, :20]
    assert np.abs(found / 0.3176 - expected).max() < 0.9
    assert np.corrcoef(found.ravel(), expected.ravel())[0, 1] > 0.99
    none = mm.LogOddsAligner(background=0.0).fit(X, Y)
    ours = none.structure_.substitution_weights(none.coef_)[:20, :20]
    assert np.corrcoef(ours.ravel(), expected.ravel())[0, 1] < 0.9
    with pytest.raises(ValueError, match="background must be"):
        mm.LogOddsAligner(background=-1.0).fit(X, Y)


def test_huge_and_tiny_weights(aligner):
    structure = aligner.structure_
    for scale in (1e200, 1e-200):
        assert structure.argmax(aligner.coef_ * scale, X[0]) == aligner.predict([X[0]])[0]


def test_saved_models(tmp_path, aligner):
    aligner.save(tmp_path / "a.mm", support=True)
    again = mm.load(tmp_path / "a.mm")
    assert again.predict(X) == aligner.predict(X)
    assert again.support_.outputs[0] == aligner.support_.outputs[0]
    assert again.gap_open_ == aligner.gap_open_


# ---------------------------------------------------------------------- baselines


@pytest.mark.parametrize("mode", ["global", "local", "semiglobal"])
def test_baselines_have_the_same_interface(mode):
    for model in (mm.MatrixAligner(mode=mode, n_tune=5), mm.LogOddsAligner(mode=mode)):
        assert model.fit(X, Y) is model
        assert model.score(*relatives(seed=1)) > 0.75
        assert model.gap_open_ in model.opens and model.gap_extend_ in model.extends
        for x in [("", ""), ("", "AC"), ("A", "W")]:
            ((a, b),) = model.predict([x])
            assert (a.replace("-", ""), b.replace("-", "")) == x
    with pytest.raises(ValueError, match="loss must be 'recall' or 'q4'"):
        mm.LogOddsAligner(loss="columns").fit(X, Y)


def test_baselines_keep_the_gaps_they_chose(tmp_path):
    path = tmp_path / "pairs.afa"
    path.write_text("".join(f">a\n{a}\n>b\n{b}\n" for a, b in Y))
    odds = mm.LogOddsAligner(opens=[-2.0, -50.0], extends=[-0.1, -20.0]).fit(path)
    assert tuple(odds.coef_[-2:]) == (odds.gap_open_, odds.gap_extend_)
    assert odds.gap_open_ == -2.0
    before = odds.coef_.copy()
    assert odds.score(str(path)) == odds.score(X, Y) == odds.training_score_
    np.testing.assert_array_equal(odds.coef_, before)
    assert odds.predict(path) == odds.predict(X)
    with pytest.raises(ValueError, match="opens must be a sequence of finite numbers"):
        mm.MatrixAligner(opens=["a"]).fit(X, Y)
    nucleotides = mm.MatrixAligner(matrix="NUC.4.4", n_tune=2).fit([("ACGT", "AGT")], [("ACGT", "A-GT")])
    assert nucleotides.predict([("ACUG", "ACUG")]) == [("ACUG", "ACUG")]


@pytest.mark.parametrize("symmetric", [True, False])
def test_log_odds_are_those_of_the_counts(symmetric):
    pairs = [("AACC", "ACCC")] * 2
    model = mm.LogOddsAligner(alphabet="AC", opens=[-1.0], extends=[-1.0], symmetric=symmetric).fit(pairs, pairs)
    counts = np.array([[2.0, 1.0], [1.0, 4.0]] if symmetric else [[2.0, 2.0], [0.0, 4.0]]) + 1.0
    shares = counts / counts.sum()
    expected = np.log(shares / np.outer(shares.sum(1), shares.sum(0)))
    np.testing.assert_allclose(model.structure_.substitution_weights(model.coef_)[:2, :2], expected)


def test_log_odds_of_weighted_pairs_are_those_of_repeated_ones():
    weighted = mm.LogOddsAligner().fit(X, Y, sample_weight=[2.0] * 5 + [0.0] * 15)
    repeated = mm.LogOddsAligner().fit(X[:5] * 2, Y[:5] * 2)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_)
    assert weighted.training_score_ == pytest.approx(repeated.training_score_)


# ---------------------------------------------------------------------- reliable columns


def test_core_columns_count_alone():
    truth, found = ("ACgtAC", "ACgtAC"), ("ACGTAC--", "AC--GTAC")
    marks = (*(row.upper() for row in truth), "**..**")
    for y in (truth, marks):
        assert mm.metrics.alignment_recall([y], [found], core=True).tolist() == [0.5]
        assert mm.metrics.alignment_recall([y], [found]).tolist() == [2 / 6]
        assert mm.metrics.q_score([y], [found], 2, core=True).tolist() == [1.0]
        structure = mm.Alignment(alphabet="ACGT", core=True).fit([("ACGTAC", "ACGTAC")], [y])
        assert structure.loss(y, found) == 0.5
    x = [("ACGTAC", "ACGTAC")]
    model = mm.PairwiseAligner(alphabet="ACGT", core=True, C=1.0).fit(x, [marks])
    assert model.score(x, [marks]) == model.score(x, [truth]) == 1.0
    lower = tuple(row.lower() for row in truth)
    with pytest.raises(ValueError, match=r"Y\[0\]: no reliable match: with core=True, matches count if both letters"):
        model.fit(x, [lower])
    with pytest.raises(
        ValueError, match=r"Y\[0\]: .*or a third that marks reliable columns with '\*', found 'A' in it"
    ):
        model.fit(x, [(truth[0], truth[1], "ACGTAC")])


def test_core_columns_are_learnt_first():
    """Unreliable matches of A with C do not count, so that nothing is lost where they are missed."""
    rng = np.random.default_rng(0)
    X, Y = [], []
    for _ in range(20):
        core = "".join(rng.choice(list("GT"), 6))
        X.append((core + "AAAA", core + "CC"))
        Y.append((core + "AAAA", core + "--CC", "******--.."))
    strict, lenient = (mm.PairwiseAligner(alphabet="ACGT", **PLAIN, core=core).fit(X, Y) for core in (False, True))
    assert lenient.certificate_.primal <= strict.certificate_.primal + 1e-6
    losses = [lenient.structure_.loss(y, ("".join(y[0]).upper(), y[1][:6] + "CC--")) for y in Y]
    assert losses == [0.0] * 20
    assert lenient.score(X, Y) == 1.0


# ---------------------------------------------------------------------- scores for other programs


def test_matrices_of_windows_are_a_part():
    pytest.importorskip("Bio")
    model = mm.PairwiseAligner(features="window", window=1, C=1.0).fit(X, Y)
    with pytest.warns(UserWarning, match=r"the matrix is a part of the model: .*\(features='window'\)"):
        matrix = model.substitution_matrix()
    assert matrix["A", "A"] == model.structure_.substitution_weights(model.coef_)[0, 0]


def test_half_bits_of_a_known_matrix():
    """λ of BLOSUM62 without gaps is 0.3176 (Altschul and Gish 1996)."""
    pytest.importorskip("Bio")
    model = mm.PairwiseAligner("global", "simple", prior={"scale": 1.0}, C=1e-9).fit(X, Y)
    found = model.integer_scores()
    assert found.scale == pytest.approx(2 * 0.3176 / np.log(2), rel=1e-3)
    twice = model.integer_scores(scale=2.0)
    assert twice.letters == "ACDEFGHIKLMNPQRSTVWYX" and twice.matrix.shape == (21, 21)
    assert (twice.matrix[0, 0], twice.matrix[0, 1], twice.gap_open, twice.gap_extend) == (8, 0, -22, -2)


def test_a_file_of_scores(tmp_path):
    align = pytest.importorskip("Bio.Align")
    model = mm.PairwiseAligner("global", "simple", prior={"scale": 1.0}, C=1e-9).fit(X, Y)
    model.write_matrix(tmp_path / "scores", scale=1.0)
    text = (tmp_path / "scores").read_text()
    assert "# gaps: -11 for the first position, -1 for each other" in text
    matrix = align.substitution_matrices.read(str(tmp_path / "scores"))
    known = align.substitution_matrices.load("BLOSUM62")
    assert all(matrix[a, b] == known[a, b] for a in "ACDEFGHIKLMNPQRSTVWY" for b in "ACDEFGHIKLMNPQRSTVWY")


def test_scores_without_half_bits():
    model = mm.PairwiseAligner(alphabet="ACGT", **(PLAIN | {"C": 1e-9})).fit([("ACG", "AG")], [("ACG", "A-G")])
    with pytest.raises(ValueError, match=r"scale='half-bits' needs scores that are negative on average.*pass a number"):
        model.integer_scores()
    with pytest.raises(ValueError, match="scale must be a number > 0"):
        model.integer_scores(scale=0)
