"""Pictures for papers and notebooks, with matplotlib, which the extra ``plot`` installs.

Every function draws into ``ax``, or into a new figure, and returns the Axes, so that titles, limits and files are up to you:

    >>> import fedflip as ff
    >>> run = ff.simulate(ff.Scenario("synthetic"), plan="full", rounds_max=3, seed=1, progress=False)
    >>> axes = ff.plots.accuracy(run)  # doctest: +SKIP
    >>> axes.figure.savefig("accuracy.pdf")  # doctest: +SKIP

- :func:`accuracy`: a metric over virtual time, a band over the seeds for each scheme.
- :func:`participation`: how often devices took part, against q.
- :func:`timeline`: when devices download, compute and upload in a round.
- :func:`plan`: q against what devices cost. :func:`fleet`: what devices compute and send.
"""

from __future__ import annotations

from fedflip.plots._accuracy import accuracy
from fedflip.plots._devices import fleet, plan
from fedflip.plots._participation import participation
from fedflip.plots._timeline import timeline

__all__ = ["accuracy", "fleet", "participation", "plan", "timeline"]
