"""Model files of earlier formats: their words are translated into those of today before anything is read.

Formats 1 and 2 have the solver ``"proximal"`` under the name ``"auto"``, the parameters of a kernel beside it, those of
a measure beside its name, and the interval of checkpoints, which belongs to a run.
"""

from __future__ import annotations

from typing import Any

#: Names in files → what they are called today.
_SOLVERS = {"solver auto": "solver proximal"}
_SOLVER_PARAMETERS = {"joint_share": "held_share"}
#: Parameters beside ``kernel`` → those of `Kernel`, with the defaults of their time.
_KERNEL = {
    "degree": ("degree", 3), "gamma": ("gamma", "scale"), "coef0": ("coef0", 0.0),
    "n_components": ("n_components", None), "kernel_method": ("method", "auto"),
}  # fmt: skip
#: Measures → today's name before a number, and the parameter that was the number.
_MEASURES = {
    "fbeta": ("f", "beta"), "precision@k": ("precision@", "k"), "recall@k": ("recall@", "k"),
    "recall_at_precision": ("recall@precision=", "precision"),
    **dict.fromkeys(("roc_auc", "auc", "roc_auc_score"), ("roc_auc@fpr=", "max_fpr")),
}  # fmt: skip
_MEASURE_PARAMETERS = ("beta", "k", "precision", "max_fpr")
_DROPPED = ("checkpoint_every",)


def translated(document: dict[str, Any], known: list[str]) -> dict[str, Any]:
    """Return the document in the words of today; `known` are the parameters that the estimator has."""
    parameters = _of_estimator(document["parameters"], known)
    if "structure" in parameters:
        parameters["structure"] = _structure(parameters["structure"])
    return {**document, "parameters": parameters, "structure": _structure(document["structure"])}


def _of_estimator(parameters: dict[str, Any], known: list[str]) -> dict[str, Any]:
    kept = dict(parameters)
    if "solver" in kept:
        kept["solver"] = _solver(kept["solver"])
    if "kernel" in kept and set(_KERNEL) <= kept.keys() and "kernel_method" not in known:
        values = {name: kept.pop(old) for old, (name, _) in _KERNEL.items()}
        if values["method"] == "leverage":  # a way to choose landmarks, which the model has
            values["method"] = "auto"
        if any(values[name] != default for name, default in _KERNEL.values()):
            kept["kernel"] = {"$record": "Kernel", "fields": {"kernel": kept["kernel"], **values}}
    if "measure" in kept and set(_MEASURE_PARAMETERS) <= kept.keys() - set(known):
        kept = _with_measure(kept)
    return {name: value for name, value in kept.items() if name in known or name not in _DROPPED}


def _structure(content: Any) -> Any:
    """Return a structure as JSON."""
    if not isinstance(content, dict) or content.get("$structure") != "Contingency":
        return content
    return {**content, "state": {**content["state"], "parameters": _with_measure(content["state"]["parameters"])}}


def _with_measure(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return parameters with the number of the measure in its name."""
    kept = {name: value for name, value in parameters.items() if name not in _MEASURE_PARAMETERS}
    measure = kept["measure"]
    if isinstance(measure, str) and measure in _MEASURES:
        name, parameter = _MEASURES[measure]
        number = parameters.get(parameter)
        if isinstance(number, dict):  # a number of NumPy
            number = number["$scalar"][1]
        if number is not None:
            kept["measure"] = f"{name}{number!r}".removesuffix(".0")
    return kept


def _solver(content: Any) -> Any:
    """Return a solver as JSON."""
    if not isinstance(content, dict) or "$record" not in content:
        return content
    name, fields = content["$record"], content["fields"]
    renamed = {_SOLVER_PARAMETERS.get(key, key): value for key, value in fields.items()}
    return {"$record": _SOLVERS.get(name, name), "fields": renamed}
