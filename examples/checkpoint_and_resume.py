"""Stop a fit and resume it later: the weights are the same, bit for bit, as without the interruption.

A callback stops the first fit after five steps. Ctrl-C, `max_seconds` or a crash leave a valid checkpoint too. A
checkpoint contains the whole state of the solver, including the random generator.
"""

from pathlib import Path

import numpy as np

import maxmargin as mm


def summary(model):
    return f"{model.n_iter_} steps, stopped by {model.stop_reason_!r}, gap {model.certificate_.gap:.1e}"


def main():
    X, Y = mm.datasets.make_chains(400, n_labels=5, random_state=0)
    settings = {"C": 1.0, "tol": 1e-4, "random_state": 7}

    straight = mm.SequenceTagger(**settings).fit(X, Y)
    print(f"in one go:  {summary(straight)}")

    def stop_after_five(step):
        print(f"  step {step.iteration}: gap {step.certificate.gap:.1e}")
        return step.iteration >= 5  # a true value stops the fit

    path = Path("tagger.checkpoint")
    begun = mm.SequenceTagger(**settings, checkpoint=path, callbacks=[stop_after_five]).fit(X, Y)
    print(f"first part: {summary(begun)}")
    print(f"checkpoint: {path.stat().st_size / 1e6:.2f} MB of plain arrays")

    resumed = mm.SequenceTagger(**settings).fit(X, Y, resume=path)
    print(f"resumed:    {summary(resumed)}")
    print(f"the same weights, bit for bit: {np.array_equal(resumed.coef_, straight.coef_)}")

    print("\nA checkpoint is only valid for its own run:")
    try:
        mm.SequenceTagger(**{**settings, "C": 2.0}).fit(X, Y, resume=path)
    except ValueError as error:
        print(f"  C=2.0: {error}")
    try:
        mm.SequenceTagger(**settings).fit(X[::-1], Y[::-1], resume=path)
    except ValueError as error:
        print(f"  other data: {error}")


if __name__ == "__main__":
    main()
