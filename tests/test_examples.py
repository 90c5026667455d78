"""Every example runs without warnings in its own directory, and prints what it should."""

import importlib.util
import re
import runpy
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Return a function that runs an example as a script and returns what it printed."""
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)

    def go(name):
        runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
        return capsys.readouterr().out

    yield go
    import matplotlib.pyplot as plt

    plt.close("all")


def numbers(text, pattern):
    """Return the groups of the first match, as numbers."""
    found = re.search(pattern, text)
    assert found, f"{pattern} not in\n{text}"
    return [float(group) for group in found.groups()]


def test_all_examples_are_tested():
    tested = {name.removeprefix("test_") for name in globals() if name.startswith("test_")}
    assert {path.stem for path in EXAMPLES.glob("*.py")} <= tested


def test_demo(run, tmp_path):
    out = run("demo")
    primal, dual = numbers(out, r"at these weights +([\d.]+)\nno weights can go below +([\d.]+)")
    assert 0 < dual <= primal <= dual / (1 - 1.001e-3)
    assert "(proven)" in out
    _, token_test = numbers(out, r"\(MulticlassSVM\) +([\d.]+) +([\d.]+)")
    _, chain_test = numbers(out, r"\(SequenceTagger\) +([\d.]+) +([\d.]+)")
    assert chain_test > token_test + 0.05
    assert "loaded again it predicts the same" in out
    assert (tmp_path / "demo-output" / "convergence.png").read_bytes().startswith(b"\x89PNG")


def test_kernels(run):
    out = run("kernels")
    linear, exact, landmarks = (
        numbers(out, rf"{name} +([\d.]+) ")[0] for name in ("linear", "RBF, exact", "landmarks")
    )
    assert min(exact, landmarks) > linear + 0.2
    (gram,) = numbers(out, r"Gram matrix +1\.00 +objective ([\d.]+)")
    (products,) = numbers(out, r"products +1\.00 +objective ([\d.]+)")
    assert abs(gram - products) < 0.01 * gram
    assert re.search(r"strongest product: colour=\d × shape=\d → \d", out)


def test_own_structure(run):
    out = run("own_structure")
    assert re.search(r"Forgetful.*1 problem\n.*loss_augmented_argmax returned .*, which is beaten by", out)
    assert "Matching on 2 examples under 20 random weights: no problems found" in out
    learnt, in_order = numbers(out, r"group: ([\d.]+) of 5 \(first come, first served: ([\d.]+)\)")
    assert learnt < in_order / 2
    (margin,) = numbers(out, r"beats .* by ([\d.]+)")
    decision = out.split("weights contribute")[1]
    amounts = [float(amount) for amount in re.findall(r"^  ([+-][\d.]+)  ", decision, re.MULTILINE)]
    assert len(amounts) > 1
    assert sum(amounts) == pytest.approx(margin, abs=1e-2)


def test_multiclass_costs(run):
    out = run("multiclass_costs")
    before, after = numbers(out, r"sent home: (\d+) with zero-one loss, (\d+) with")
    assert after < before / 2
    costs = [float(cost) for cost in re.findall(r"mean cost ([\d.]+)", out)]
    assert costs[1] < costs[0]
    assert "bit for bit: True" in out


def test_tagging_named_tokens(run):
    out = run("tagging_named_tokens")
    free, broken_free = numbers(out, r"without constraints +right labels ([\d.]+) +broken spans (\d+)")
    bio, broken_bio = numbers(out, r"constraints='bio' +right labels ([\d.]+) +broken spans (\d+)")
    assert broken_bio == 0 < broken_free
    assert bio > free
    assert re.search(r"O +O +O +B-LOC +I-LOC +O +B-PER +I-PER", out)
    assert "→ I-PER" in out.split("Why the best one won")[1]


def test_bounds(run):
    out = run("bounds")
    rows = re.findall(r"^(margin|slack) +(linear|quadratic) +(.*?)  +(.*)$", out, re.MULTILINE)
    assert len(rows) == 14
    for bound, slack, loss, rest in rows:
        primal, dual, at_most, gap, exact, score, _ = rest.split()
        searched = loss == "per label" and (bound, slack) != ("margin", "linear")
        assert float(dual) <= float(at_most)
        assert float(gap) <= 1e-3
        assert float(score) > 0.8
        if not searched:
            assert exact == "yes"
            assert float(dual) <= float(primal) == float(at_most)
    assert "the data are not separable" in out


def test_solvers(run, tmp_path):
    out = run("solvers")
    rows = re.findall(r"^([a-z][a-zA-Z, ]+?)  +(\d+) +(\d+) +([\d.]+) +([\d.]+) +([\d.]+) +(\S+)  ", out, re.MULTILINE)
    primal = {name: float(row[3]) for name, *row in rows}
    dual = {name: float(row[4]) for name, *row in rows}
    assert list(primal) == [
        "auto", "nslack", "sharded", "oneslack", "bundle", "subgradient", "subgradient, Polyak", "perceptron",
    ]  # fmt: skip
    assert max(dual.values()) <= min(primal.values())  # all bound the same optimum
    for name in ("auto", "nslack", "sharded", "oneslack", "bundle"):
        assert primal[name] == pytest.approx(primal["auto"], rel=2e-3)
    assert (tmp_path / "solvers.png").read_bytes().startswith(b"\x89PNG")


def test_path_and_search(run):
    out = run("path_and_search")
    on_path, alone = numbers(out, r"argmaxes in total: (\d+) on the path, (\d+) in separate")
    assert on_path < alone
    objectives = [float(row) for row in re.findall(r"^ +[\d.]+ +([\d.]+) +\d+ +\d+ ", out, re.MULTILINE)]
    assert len(objectives) == 5
    assert objectives == sorted(objectives)
    assert len(re.findall(r"'bound': '(?:margin|slack)'} +0\.\d+", out)) == 6
    (score,) = numbers(out, r"best: .*, score on the test part ([\d.]+)")
    assert score > 0.7


def test_checkpoint_and_resume(run):
    out = run("checkpoint_and_resume")
    assert "first part: 5 steps, stopped by 'callback'" in out
    straight, resumed = (re.search(rf"{part}: +(.*)", out)[1] for part in ("in one go", "resumed"))
    assert straight == resumed
    assert "stopped by 'tol'" in straight
    assert "bit for bit: True" in out
    assert "its C is '1.0', expected '2.0'" in out
    assert "other data: tagger.checkpoint belongs to another run: its data is" in out


def test_label_noise(run, tmp_path):
    out = run("label_noise")
    rows = re.findall(r"^ +(\d+)% +([\d.]+) +([\d.]+) +\d+$", out, re.MULTILINE)
    gains = {int(share): float(ramp) - float(convex) for share, convex, ramp in rows}
    assert list(gains) == [0, 10, 20, 30]
    assert gains[0] > -0.05
    noisy = gains[10], gains[20], gains[30]
    assert min(noisy) > 0.0
    assert max(noisy) > 0.1
    steps = re.findall(r"^ +(\d+) +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+) +\d+$", out, re.MULTILINE)
    objectives = [float(step[1]) for step in steps]
    assert len(objectives) > 3
    assert objectives == sorted(objectives, reverse=True)
    for _, _, convex, bound, loss in steps:
        assert float(loss) <= float(bound) <= float(convex)
    for name in ("label_noise_steps.png", "label_noise_C.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


def test_clustering(run):
    out = run("clustering")
    objectives = [float(value) for value in re.search(r"outer steps: (.*)", out)[1].split(", ")]
    assert objectives == sorted(objectives, reverse=True)
    assert len(objectives) > 2
    latent, latent_items = numbers(out, r"latent forests .* F1 +([\d.]+) +B³ ([\d.]+)")
    chains, chain_items = numbers(out, r"fixed chains .* F1 +([\d.]+) +B³ ([\d.]+)")
    assert latent > chains > 90
    assert latent_items > chain_items
    recalls = [float(value) for value in re.findall(r"r = [\d.]+ .*recall +([\d.]+)", out)]
    assert recalls == sorted(recalls, reverse=True)
    assert len(set(recalls)) == 3
    assert re.search(r"strongest link .* joins stars \d+ and \d+, with a score of \d", out)


def test_motifs(run, tmp_path):
    out = run("motifs")
    rows = re.findall(r"^(words|random) +(\d+) +([\d.]+) +([\d.]+) +([\d.]+)$", out, re.MULTILINE)
    assert [row[:2] for row in rows] == [("words", "1"), ("words", "3"), ("random", "3")]
    objectives, errors = [float(row[2]) for row in rows], [float(row[4]) for row in rows]
    assert objectives[1] <= objectives[0]
    assert errors[1] < 0.15
    assert errors[1] <= errors[2]
    planted, reverse, found = re.search(r"planted (\w+) or (\w+), found (\w+)", out).groups()
    assert found in (planted, reverse)
    (right,) = numbers(out, r"in (\d+)% of the test strings with a motif it is found at the exact position")
    assert right > 85
    (accuracy,) = numbers(out, r"5-fold cross-validation: ([\d.]+)")
    assert accuracy > 0.8
    assert (tmp_path / "motifs.png").read_bytes().startswith(b"\x89PNG")


def test_trees(run, tmp_path):
    out = run("trees")
    (gap,) = numbers(out, r"relative gap ([\d.e-]+) \(proven\)")
    assert gap <= 1e-3
    learnt, next_word = numbers(out, r"test sentences: ([\d.]+) \(head = the next word: ([\d.]+)\)")
    assert learnt > 0.95 > 0.5 > next_word
    best = re.search(r"three best trees of one sentence:\n.*\n((?: +[\d.]+ .*\n){3})", out)[1]
    scores = [float(line.split()[0]) for line in best.splitlines()]
    assert scores == sorted(scores, reverse=True)
    assert len({tuple(line.split()[1:]) for line in best.splitlines()}) == 3
    (margin,) = numbers(out, r"beats .* by ([\d.]+)")
    assert margin == pytest.approx(scores[0] - scores[1], abs=0.011)
    assert (tmp_path / "trees.png").read_bytes().startswith(b"\x89PNG")


def test_dependency_parsing(run, tmp_path):
    out = run("dependency_parsing")
    (gap,) = numbers(out, r"relative gap ([\d.e-]+) \(proven\)")
    assert gap <= 3e-2
    (learnt,) = numbers(out, r"right heads in 200 test sentences: ([\d.]+)")
    (projective,) = numbers(out, r"if arcs may not cross: ([\d.]+)")
    assert learnt > 0.98 > projective > 0.9
    tree = re.search(r"^(\[.*\]) \(score", out, re.MULTILINE)[1]
    rows = re.findall(r"^\d+\t\w+\t_\t[A-Z]+\t_\t_\t(\d+)\t(dep|root)\t_\t_$", out, re.MULTILINE)
    assert [int(head) for head, _ in rows] == eval(tree)
    assert (tmp_path / "dependency_parsing.png").read_bytes().startswith(b"\x89PNG")


def test_constituency_parsing(run, tmp_path):
    out = run("constituency_parsing")
    pcfg, rules, features = map(float, re.findall(r"F1 ([\d.]+)", out))
    assert features > 0.98 > rules > 0.9 and 0.98 > pcfg > 0.9
    assert re.search(r"^TOP\n├─ NP\n│  ├─ DT the\n│  └─ NN dog\n├─ IN of\n└─ IN of$", out, re.MULTILINE)
    assert (tmp_path / "constituency_parsing.png").read_bytes().startswith(b"\x89PNG")


def test_reviewers(run, tmp_path):
    out = run("reviewers")
    (gap,) = numbers(out, r"relative gap ([\d.e-]+) \(proven\)")
    assert gap <= 1e-3
    learnt, counted = numbers(out, r"test years: ([\d.]+) learnt, ([\d.]+) by counting")
    assert learnt < 0.7 * counted
    best = re.findall(r"([a-z]+) [+]", re.search(r"best words: (.*)", out)[1])
    assert len(best) == 5 and not set(best) & {"model", "data", "learning", "method", "results", "training", "error"}
    first, second = re.search(r"reviewers (.*); with a conflict of \d: (.*)", out).groups()
    assert first != second
    assert (tmp_path / "reviewers.png").read_bytes().startswith(b"\x89PNG")


def test_matchings(run, tmp_path):
    out = run("matchings")
    learnt, near = numbers(out, r"all bonded: right bonds ([\d.]+), by neighbours ([\d.]+)")
    assert learnt > 0.8 > 0.3 > near
    alone, precision, recall = numbers(out, r"(\d+)% of the residues not bonded: precision ([\d.]+), recall ([\d.]+)")
    assert 5 < alone < 60
    assert min(precision, recall) > 0.8
    scores = [float(score) for score in re.findall(r"^ +([\d.]+) \d+–\d+", out, re.MULTILINE)]
    assert len(scores) == 3 and scores == sorted(scores, reverse=True)
    assert (tmp_path / "matchings.png").read_bytes().startswith(b"\x89PNG")


def test_rna_folding(run, tmp_path):
    out = run("rna_folding")
    (from_energies,) = numbers(out, r"from Turner's energies +sensitivity .*, F1 ([\d.]+)")
    pattern = r"from 0, convex bound +sensitivity ([\d.]+), selectivity ([\d.]+), F1 ([\d.]+)"
    sensitivity, selectivity, _ = numbers(out, pattern)
    fewer, surer, _ = numbers(out, r"false 1 +sensitivity ([\d.]+), selectivity ([\d.]+), F1 ([\d.]+)")
    assert from_energies > 0.75 and sensitivity > 0.8 and sensitivity > fewer and surer > selectivity - 0.03
    energies = [float(energy) for energy in re.findall(r"^[.()]+ (-[\d.]+) kcal/mol$", out, re.MULTILINE)]
    assert len(energies) == 3 and energies == sorted(energies)
    learnt, prior = numbers(out, r"held-out sequences: learnt ([\d.]+), prior ([\d.]+)")
    assert learnt >= prior
    assert "predicted.dbn: 60 structures" in out
    for name in ("rna_arcs.png", "rna_circle.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


def run_optional(run, name, package):
    """Run an example that needs another package; without it, the example must end with a message."""
    if importlib.util.find_spec(package) is None:
        with pytest.raises(SystemExit, match="this example needs"):
            run(name)
        pytest.skip(f"{package} is not installed")
    return run(name)


def test_tours_with_ortools(run):
    out = run_optional(run, "tours_with_ortools", "ortools")
    assert "(proven)" in out
    learnt, shortest = numbers(out, r"on new days: ([\d.]+) \(shortest tours: ([\d.]+)\)")
    assert learnt < shortest / 2


def test_networks_with_networkx(run):
    out = run_optional(run, "networks_with_networkx", "networkx")
    (careful,) = numbers(out, r"careful +inf.* ([\d.]+)\n")
    (careless,) = numbers(out, r"careless +1 .* ([\d.]+)\n")
    assert careful < careless < 1.0
    river, rock = numbers(out, r"careful +inf +1.00 +([\d.]+) +([\d.]+)")
    assert river == pytest.approx(0.5, abs=0.1)
    assert rock == pytest.approx(0.8, abs=0.1)


def test_alignment(run, tmp_path):
    out = run("alignment")
    recalls = dict(re.findall(r"^  (\w.*?) +(0\.\d+)$", out, re.MULTILINE))
    assert float(recalls["learnt, window and structure"]) > float(recalls["log odds with structure"]) + 0.01
    assert "(proven)" in out
    scores = numbers(out, r"pair\n  ([\d.]+)\n.*\n.*\n  ([\d.]+)\n.*\n.*\n  ([\d.]+)\n")
    assert scores == sorted(scores, reverse=True)
    assert (tmp_path / "alignment.png").read_bytes().startswith(b"\x89PNG")


def test_predicted_structure(run):
    out = run("predicted_structure")
    rows = {
        name: list(map(float, r)) for name, *r in re.findall(r"^  (\w.*?) +log odds (\S+), learnt (\S+)$", out, re.M)
    }
    assert rows["letters"][1] < rows["predicted structure"][1] < rows["known structure"][1]
    assert all(learnt > odds - 0.02 for odds, learnt in rows.values())


def test_predict_then_optimise(run):
    out = run("predict_then_optimise")
    rows = {int(d): list(map(float, r)) for d, *r in re.findall(r"^ +(\d) +(\S+) +(\S+) +(\S+) +\S+, \S+$", out, re.M)}
    assert set(rows) == {1, 6}
    assert rows[6][1] < 0.8 * rows[6][0] and rows[6][2] < 0.8 * rows[6][0]
    assert rows[1][0] < rows[1][1] + 0.01
    assert "(proven)" in out
    assert "runner-up" in out


def test_precision_at_k(run):
    out = run("precision_at_k")
    rows = re.findall(r"^ *(\d+) +([\d.]+) +([\d.]+) +([\d.]+) +\d+$", out, re.MULTILINE)
    assert [int(row[0]) for row in rows] == [1, 3, 5, 10]
    gains = [float(ours) - float(classifier) for _, _, classifier, ours in rows]
    assert gains[0] > 0.04
    assert min(gains) > -0.01
    assert all(float(random) < 0.4 < float(classifier) for _, random, classifier, _ in rows)
    (score,) = numbers(out, r"best C .*, precision@5 ([\d.]+)")
    assert score > 0.6
    assert "query 'query 7' has no relevant document" in out


def test_rankings(run, tmp_path):
    out = run("rankings")
    rows = re.findall(r"^(.+?) +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+)$", out, re.MULTILINE)
    found = {row[0]: [float(value) for value in row[1:]] for row in rows}
    assert len(found) == 4
    assert found["NDCG@10, convex bound"][0] == 0.0
    others = [values for name, values in found.items() if name != "NDCG@10, convex bound"]
    assert all(values[2] > found["NDCG@10, convex bound"][2] + 0.1 for values in others)
    (dual,) = numbers(out, r"no weights can go below ([\d.]+)")
    assert 0.999 * 60 < dual <= 60.001
    assert (tmp_path / "rankings-output" / "ndcg.png").read_bytes().startswith(b"\x89PNG")


def test_diverse_results(run, tmp_path):
    out = run("diverse_results")
    found = {name: float(value) for name, value in re.findall(r"^  (\w[\w ]+?) +([\d.]+)$", out, re.MULTILINE)}
    assert found["learnt"] > max(found[name] for name in ("most words", "first texts", "random texts")) + 0.05
    assert (tmp_path / "diverse-output" / "coverage.png").read_bytes().startswith(b"\x89PNG")


def test_rare_class(run, tmp_path):
    out = run("rare_class")
    rows = re.findall(r"^(\S.*?) +([\d.]+) +([\d.]+) +([\d.]+) +(-?\d+)$", out, re.MULTILINE)
    f1, area, precision, profit = ({row[0]: float(row[k]) for row in rows} for k in range(1, 5))
    assert f1["MeasureSVC(measure='f1')"] > f1["LinearSVC"] + 0.05
    assert profit["MeasureSVC(measure=profit)"] > 2 * profit["LinearSVC"]
    assert area["MeasureSVC(measure='roc_auc')"] >= area["LinearSVC"]
    assert precision["MeasureSVC(measure='average_precision')"] > precision["LinearSVC"]
    assert "(proven)" in out
    assert "a measure that is a loss: measure <lambda> rises with errors" in out
    assert (tmp_path / "rare_class.png").read_bytes().startswith(b"\x89PNG")


def test_path_on_a_grid(run, tmp_path):
    out = run("path_on_a_grid")
    (learnt,) = numbers(out, r"learnt: routes cost ([\d.]+)% more")
    (fewest,) = numbers(out, r"fewest steps: routes cost ([\d.]+)% more")
    assert learnt < 5 < 40 < fewest
    assert "(proven)" in out
    assert (tmp_path / "path_on_a_grid.png").read_bytes().startswith(b"\x89PNG")


def test_snakes(run, tmp_path):
    out = run("snakes")
    shares = {
        name: numbers(out, rf"{name}: ([\d.]+) of all cells right, ([\d.]+) of the snakes")
        for name in ("cells alone", "equal labels", "all pairs")
    }
    assert shares["all pairs"][0] > 0.98 and shares["all pairs"][1] > 0.95
    assert max(shares["cells alone"][1], shares["equal labels"][1]) < 0.5
    primal, bound = numbers(out, r"objective ([\d.]+), proven to be at most ([\d.]+)")
    assert primal <= bound < 1.1 * primal
    assert (tmp_path / "snakes.png").read_bytes().startswith(b"\x89PNG")


def test_image_segmentation(run, tmp_path):
    out = run("image_segmentation")
    single, _ = numbers(out, r"pixels alone: ([\d.]+) of the pixels right, intersection over union ([\d.]+)")
    right, share = numbers(out, r"with neighbours: ([\d.]+) of the pixels right, intersection over union ([\d.]+)")
    assert right > single + 0.05 and share > 0.7
    primal, bound = numbers(out, r"objective ([\d.]+), proven to be at most ([\d.]+)")
    assert primal <= bound < 1.2 * primal
    (accuracy,) = numbers(out, r"pixel accuracy ([\d.]+)")
    assert accuracy > 0.9
    assert (tmp_path / "image_segmentation.png").read_bytes().startswith(b"\x89PNG")


def test_knapsack(run):
    out = run("knapsack")
    shares = re.findall(r"test years: ([\d.]+) of the projects and ([\d.]+) of the years", out)
    assert len(shares) == 2
    assert all(float(projects) > 0.9 for projects, _ in shares)
    benefit, risk = numbers(out, r"benefit ([\d.]+), risk (-[\d.]+)")
    assert benefit == 3.0
    assert risk == pytest.approx(-2.0, abs=0.3)


def test_minmax(run):
    out = run("minmax")
    auto, minmax = (numbers(out, rf"{name} +\d+ steps, objective ([\d.]+)")[0] for name in ("auto", "minmax"))
    assert minmax == pytest.approx(auto, rel=1e-5)
    planes, odd = (numbers(out, rf"  {name} +objective ([\d.]+), minimised itself")[0] for name in ("auto", "odd sets"))
    assert odd == pytest.approx(planes, rel=1e-5)
    prices, distances = (
        numbers(out, rf"{name} .*its optimum at least ([\d.]+)")[0] for name in ("prices", "distances")
    )
    assert prices == pytest.approx(distances, rel=1e-5) and prices > planes * 1.001


def test_taxonomy(run):
    out = run("taxonomy")
    table = {(h, loss): (float(right), float(tree)) for h, loss, right, tree in
             re.findall(r"^(None|'/') +(\S+) +([\d.]+)  ([\d.]+)$", out, re.MULTILINE)}  # fmt: skip
    flat, both = table["None", "zero-one"], table["'/'", "tree"]
    assert both[0] > flat[0]
    assert both[1] < 0.85 * flat[1]
    assert "(proven)" in out
    inside, outside = numbers(out, r"a class in sci: ([\d.]+), other documents: ([\d.]+)")
    assert inside > 0.9 > 0.1 > outside


def test_multilabel(run):
    out = run("multilabel")
    rows = re.findall(r"^(hamming|f1) +(None|tree|all) +([\d.]+)  ([\d.]+)  ([\d.]+)$", out, re.MULTILINE)
    found = {(loss, pairs): (float(wrong), float(f1), float(right)) for loss, pairs, wrong, f1, right in rows}
    assert len(found) == 6
    assert found["f1", "all"][2] > found["f1", "None"][2] + 0.05
    assert found["f1", "all"][1] > found["hamming", "all"][1]
    assert "sea and mountain: -" in out
