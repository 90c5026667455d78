"""Messages of the library in the words of the command line: options in place of Python's parameters.

``impossible='drop'`` becomes ``--impossible drop`` where the command has this option. What advises a parameter that the
command does not have is left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Any, get_type_hints

from typer.models import OptionInfo

#: Parameters of estimators → names of options that differ from them.
_OTHER_NAMES = {"n_jobs": "jobs", "random_state": "seed", "fit_intercept": "intercept"}
#: Functions that messages advise → the option that does the same.
_FUNCTIONS = {"maxmargin.repair_bio": "--constraints bio"}

_QUOTES = "'\""
_VALUE = r"""'[^']*'|"[^"]*"|\{[^}]*\}|[-+]?[\w.]+(?:(?<=e)[-+]\d+)?(?<!\.)|(?=[,.;:)\s]|$)"""
_SETTING = re.compile(rf"(?<![\w@'\"])([A-Za-z_]\w*)=({_VALUE})")
_CALL = re.compile(rf"\b([A-Z]\w+)\(((?:\w+=(?:{_VALUE})(?:, )?)+)\)")
_VERB = re.compile(r"(accept|choose|leave|lower|pass|raise|set|use) ")
_ADVICE = re.compile(rf"(?:^|: |, or |, ){_VERB.pattern}")
_WITH = re.compile(rf" with (\w+)=(?:{_VALUE})")
_WORD = re.compile(r"(?<![-\w'\"@.])[a-z]+(?:_[a-z]+)+(?![\w(=@'\".])")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_EXAMPLE = re.compile(r"\b[XYy]\[(\d+)\]")


@dataclass(frozen=True)
class Flag:
    """An option of a command as it is written.

    Attributes
    ----------
    yes, no : what sets it, and what sets it to False; `no` is empty for options with a value.
    takes_none : whether the value ``none`` is Python's None.
    """

    yes: str
    no: str = ""
    takes_none: bool = False


def flags_of(command: Callable[..., Any]) -> dict[str, Flag]:
    """Return the options of a command by the names of the parameters that they set."""
    hints = get_type_hints(command, include_extras=True)
    takes_none: frozenset[str] = getattr(command, "takes_none", frozenset())
    flags = {}
    for name, part in signature(command).parameters.items():
        hint = hints.get(name, part.annotation)
        option = next((extra for extra in getattr(hint, "__metadata__", ()) if isinstance(extra, OptionInfo)), None)
        if option is not None:
            spelt = next(text for text in (option.default, *(option.param_decls or ())) if isinstance(text, str))
            yes, _, no = spelt.partition("/")
            flags[name] = Flag(yes, no, name in takes_none)
    return flags | {name: flags[other] for name, other in _OTHER_NAMES.items() if other in flags and name not in flags}


def in_options(text: str, flags: Mapping[str, Flag]) -> str:
    """Return a message that names options instead of parameters, and counts examples from 1."""
    text = _rule("; ".join(filter(None, (_known_advice(clause, flags) for clause in text.split("; ")))), flags)
    for function, option in _FUNCTIONS.items():
        if any(flag.yes == option.split()[0] for flag in flags.values()):
            text = text.replace(function, option)
    text = _CALL.sub(lambda call: _call(call, flags), text)
    text = re.sub(r"\bset (\w+)=None\b", lambda setting: _without(setting, flags), text)
    text = _SETTING.sub(lambda setting: _setting(setting, flags), text)
    if any(flag.takes_none for flag in flags.values()):
        text = re.sub(r"\bor None\b", "or none", text)
    text = _WORD.sub(lambda word: flags[word[0]].yes if word[0] in flags else word[0], text)
    text = re.sub(r"^(\w+)(?= must be |: )", lambda word: flags[word[0]].yes if word[0] in flags else word[0], text)
    return _EXAMPLE.sub(lambda place: f"example {int(place[1]) + 1}", text)


def _known_advice(clause: str, flags: Mapping[str, Flag]) -> str:
    """Return a clause without the advice to set parameters that are no options; empty if it is nothing else."""
    advice = _ADVICE.search(clause)
    if advice is None:
        return clause
    before, verb = clause[: advice.start(1)], advice[1]
    listed = _WITH.sub(lambda part: part[0] if part[1] in flags else "", clause[advice.end() :])
    items = [item if _VERB.match(item) else f"{verb} {item}" for item in _items(listed)]
    known = [item for item in items if all(name in flags for name in _parameters(item))]
    if len(known) == len(items):
        return f"{before}{verb} {listed}"
    if not known:
        return clause[: advice.start()]
    return before + _joined([known[0], *(item.removeprefix(f"{verb} ") for item in known[1:])])


def _parameters(text: str) -> list[str]:
    """Return the names of parameters in a text: those before ``=``, and words with an underscore."""
    bare = _QUOTED.sub("''", text)
    return [setting[1] for setting in _SETTING.finditer(bare)] + [word[0] for word in _WORD.finditer(bare)]


def _items(text: str) -> list[str]:
    """Return the members of a list in words; commas in brackets separate nothing."""
    return re.split(r"(?:, or |, | or )(?![^({]*[)}])", text)


def _joined(items: list[str]) -> str:
    return " or ".join(filter(None, [", ".join(items[:-1]), items[-1]]))


def _rule(text: str, flags: Mapping[str, Flag]) -> str:
    """Return an error about a value of an option without what cannot be written on the command line, as a matrix."""
    rule = re.fullmatch(r"(\w+)( must be )(.+)(, found )(.+)", text, re.DOTALL)
    if rule is None or rule[1] not in flags:
        return text
    takes_none = flags[rule[1]].takes_none
    allowed = [item for item in _items(rule[3]) if takes_none or item != "None"]
    if any(item[0] in "'\"" for item in allowed):
        allowed = [item for item in allowed if item[0] in "'\"" or item == "None"]
    given = "'none'" if rule[5] == "None" else rule[5]
    known = _joined(["'none'" if item == "None" else item for item in allowed])
    return f"{flags[rule[1]].yes}{rule[2]}{known}{rule[4]}{given}"


def _call(call: re.Match[str], flags: Mapping[str, Flag]) -> str:
    """Return the options of an estimator that is written with its parameters; without options, the estimator."""
    known = [_setting(setting, flags) for setting in _SETTING.finditer(call[2]) if setting[1] in flags]
    return " ".join(known) or call[1]


def _setting(setting: re.Match[str], flags: Mapping[str, Flag]) -> str:
    """Return the option for ``name=value``."""
    if setting[1] not in flags:
        return setting[0]
    flag, value = flags[setting[1]], setting[2]
    if value == "None" and not flag.takes_none:
        return f"no {flag.yes}"
    if flag.no and value in ("True", "False"):
        return flag.yes if value == "True" else flag.no
    return f"{flag.yes} {'none' if value == 'None' else value if ' ' in value else value.strip(_QUOTES)}".rstrip()


def _without(setting: re.Match[str], flags: Mapping[str, Flag]) -> str:
    """Return the advice to leave out an option for that to set the parameter to None."""
    flag = flags.get(setting[1])
    return setting[0] if flag is None or flag.takes_none else f"leave out {flag.yes}"
