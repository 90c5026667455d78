"""The demo of `make demo`: train a sequence tagger, prove how good its weights are, save it, plot the convergence.

The data are generated: a hidden Markov chain gives every token one of six labels and eight noisy measurements. A label
depends on the previous one, so a tagger that uses neighbours can do better than a classifier of single tokens.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

import maxmargin as mm

plt.switch_backend("Agg")  # draws to files, without a display

OUTPUT = Path("demo-output")


def heading(text):
    print(f"\n{text}\n{'─' * len(text)}")


def main():
    X, Y = mm.datasets.make_chains(1000, n_labels=6, min_length=5, max_length=20, random_state=2)
    X_train, X_test, Y_train, Y_test = train_test_split(X, Y, test_size=0.25, random_state=0)
    train_tokens, test_tokens = np.concatenate(X_train), np.concatenate(X_test)
    train_labels, test_labels = np.concatenate(Y_train), np.concatenate(Y_test)

    heading("Data")
    print(f"train  {len(X_train):4d} sequences, {len(train_tokens):5d} tokens")
    print(f"test   {len(X_test):4d} sequences, {len(test_tokens):5d} tokens")
    print("Training (the first run on a machine compiles functions, which takes about ten seconds) ...")

    tagger = mm.SequenceTagger(tol=1e-3).fit(X_train, Y_train)
    classifier = mm.MulticlassSVM().fit(train_tokens, train_labels)

    heading("Certificate of the tagger")
    proof = tagger.certificate_
    print(f"objective at these weights   {proof.primal:.2f}")
    print(f"no weights can go below      {proof.dual:.2f}")
    print(f"relative gap                 {proof.gap:.1e}  ({'proven' if proof.exact else 'estimated'})")
    print(f"work                         {tagger.n_iter_} steps, {proof.oracle_calls} argmaxes, {proof.seconds:.2f} s")
    print(f"stopped because of           {tagger.stop_reason_}")
    print(f"active planes                {len(tagger.support_)} for {len(tagger.coef_)} weights")

    heading("Share of right labels")
    print("                                    train    test")
    print(
        f"token by token  (MulticlassSVM)    {classifier.score(train_tokens, train_labels):6.3f}  "
        f"{classifier.score(test_tokens, test_labels):6.3f}"
    )
    print(
        f"as a chain      (SequenceTagger)   {tagger.score(X_train, Y_train):6.3f}  {tagger.score(X_test, Y_test):6.3f}"
    )

    OUTPUT.mkdir(exist_ok=True)
    model = OUTPUT / "tagger.mm"
    tagger.save(model)
    same = mm.load(model).predict(X_test) == tagger.predict(X_test)

    picture = OUTPUT / "convergence.png"
    mm.plots.ConvergenceDisplay.from_estimator(tagger, x="iteration").figure_.savefig(picture, dpi=150)

    heading("Files")
    print(f"{model}        the model; loaded again it predicts {'the same' if same else 'SOMETHING ELSE'}")
    print(f"{picture}  objective, lower bound and gap of each step")
    if not same:
        raise SystemExit("the predictions of the loaded model differ from those of the saved one")


if __name__ == "__main__":
    main()
