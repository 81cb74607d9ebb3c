"""The results of the checks of a learner, as objects and as text."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from fedflip._check_probe import Difference
from fedflip._errors import LearnerError

__all__ = ["Finding", "LearnerReport"]


@dataclass(frozen=True)
class Finding:
    """The result of one check."""

    #: What was done.
    check: str
    #: Whether the results were equal.
    ok: bool
    #: What differs, in words.
    detail: str = ""
    #: The likely source of a difference, and what to change.
    source: str = ""
    #: Where updates differ; None if they do not, or were not compared.
    difference: Difference | None = None


@dataclass(frozen=True, repr=False)
class LearnerReport:
    """The results of ``check_learner``.

    Attributes:
        learner: The name of the learner's class.
        findings: One result for each check.
        notes: Remarks that are not failures.
        secs: The time that all checks took.
    """

    learner: str
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()
    secs: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether all checks passed."""
        return all(finding.ok for finding in self.findings)

    @property
    def failures(self) -> tuple[Finding, ...]:
        """The checks that failed."""
        return tuple(finding for finding in self.findings if not finding.ok)

    def raise_if_bad(self) -> None:
        """Raises an exception with the report as its message, if a check failed.

        Raises:
            LearnerError: If a check failed.
        """
        if not self.ok:
            raise LearnerError(repr(self), remedy=self.failures[0].source)

    def __repr__(self) -> str:
        count, failed = len(self.findings), len(self.failures)
        verdict = f"passed all {count} checks" if self.ok else f"failed {failed} of {count} checks"
        lines = [f"{self.learner} {verdict} in {self.secs:.1f} s"]
        for finding in self.findings:
            detail = f": {finding.detail}" if finding.detail else ""
            lines.append(f"  {'ok  ' if finding.ok else 'FAIL'}  {finding.check}{detail}")
            if finding.source:
                lines.append(f"        {finding.source}")
        return "\n".join([*lines, *(f"  note  {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"
