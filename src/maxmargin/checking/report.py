"""The result of `check_structure`."""

from __future__ import annotations

from dataclasses import dataclass, field

from maxmargin.core.structure import StructureError


@dataclass
class Report:
    """Result of `check_structure`.

    Attributes
    ----------
    problems : list of str
        A message for each kind of problem, with its first example and the number of cases.
    notes : list of str
        Facts that are not faults, such as argmaxes that are not optimal in a structure with ``exact = False``.
    subject : str
        What was checked.
    """

    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    subject: str = "structure"

    @property
    def ok(self) -> bool:
        """Whether there are no problems."""
        return not self.problems

    def raise_if_bad(self) -> None:
        """Raise a `StructureError` with all problems, if there are any."""
        if self.problems:
            raise StructureError(str(self))

    def __str__(self) -> str:
        n = len(self.problems)
        lines = [f"{self.subject}: {'no problems found' if n == 0 else f'{n} problems' if n > 1 else '1 problem'}"]
        lines += [f"  {k}. {message}" for k, message in enumerate(self.problems, 1)]
        return "\n".join(lines + [f"  note: {message}" for message in self.notes])
