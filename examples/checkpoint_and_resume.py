"""Stop a fit in the middle and go on later, as if nothing had happened: the weights are the same, bit for bit.

A callback stops the first fit after five steps (Ctrl-C, `max_seconds` and a crash do as well: the last checkpoint
stands). Everything a solver knows is in the checkpoint, the random generator included.
"""

from pathlib import Path

import numpy as np

import maxmargin as mm


def told(model):
    return f"{model.n_iter_} steps, stopped by {model.stop_reason_!r}, gap {model.certificate_.gap:.1e}"


def main():
    X, Y = mm.datasets.make_chains(400, n_labels=5, random_state=0)
    settings = {"C": 1.0, "tol": 1e-4, "random_state": 7}

    straight = mm.SequenceTagger(**settings).fit(X, Y)
    print(f"in one go:  {told(straight)}")

    def stop_after_five(step):
        print(f"  step {step.iteration}: gap {step.certificate.gap:.1e}")
        return step.iteration >= 5  # true stops the fit

    path = Path("tagger.checkpoint")
    begun = mm.SequenceTagger(**settings, checkpoint=path, callbacks=[stop_after_five]).fit(X, Y)
    print(f"first part: {told(begun)}")
    print(f"checkpoint: {path.stat().st_size / 1e6:.2f} MB of plain arrays")

    resumed = mm.SequenceTagger(**settings).resume(path, X, Y)
    print(f"resumed:    {told(resumed)}")
    print(f"the same weights, bit for bit: {np.array_equal(resumed.coef_, straight.coef_)}")

    print("\nA checkpoint knows its run:")
    try:
        mm.SequenceTagger(**{**settings, "C": 2.0}).resume(path, X, Y)
    except ValueError as error:
        print(f"  C=2.0: {error}")
    try:
        mm.SequenceTagger(**settings).resume(path, X[::-1], Y[::-1])
    except ValueError as error:
        print(f"  other data: {error}")


if __name__ == "__main__":
    main()
