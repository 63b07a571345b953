"""How training would scale over many ranks, by the alpha-beta model: a calculation, no measurement.

    python tests/benchmarks/scaling_model.py [--step resnet50=2.7 --step gpt2=7] [--markdown]

A message of n bytes takes alpha + n / beta. An all-reduce over N ranks is a ring: 2 (N - 1)
messages of n / N bytes each; where machines hold several devices, a ring within each machine around
one between them (reduce-scatter inside, all-reduce of the parts between, all-gather inside).
Gradients leave in buckets as backward makes them, one bucket at a time; the step ends when both are
done.
What goes in, and what is left out, is in ASSUMPTIONS and in
notebooks/guide/docs/explanation/scaling.md.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass, replace

ASSUMPTIONS = """\
- every rank trains on as many samples as one rank would: the batch grows with the ranks
- backward is two thirds of a step, and gradients come evenly over it
- a rank's step varies by 2% (standard deviation), and all wait for the slowest
- bandwidths are those of the hardware times 0.8; a message between machines takes 30 us (10 GbE),
  15 us (100 GbE), one between GPUs 5 us; nobody else uses the network
- reading and decoding data keeps up; evaluation and checkpoints are left out"""

RANKS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
_BACKWARD = 2 / 3
_JITTER = 0.02
_USABLE = 0.8


@dataclass(frozen=True)
class Link:
    """alpha in seconds a message, beta in bytes a second."""

    alpha: float
    beta: float

    def ring(self, ranks: int, size: float) -> float:
        """Seconds of an all-reduce of `size` bytes.

        >>> Link(0.0, 1e9).ring(2, 1e9)
        1.0
        """
        if ranks == 1:
            return 0.0
        return 2 * (ranks - 1) * (self.alpha + size / ranks / self.beta)


@dataclass(frozen=True)
class Network:
    """Machines of `inside` devices each, with a link within and one between them that the devices
    of a machine share."""

    name: str
    between: Link
    inside: int = 1
    within: Link = Link(0.0, math.inf)

    def all_reduce(self, ranks: int, size: float) -> float:
        """Seconds; ranks beyond one machine come in whole machines.

        >>> ETHERNET_100.all_reduce(1, 1e9)
        0.0
        """
        local = min(ranks, self.inside)
        machines = max(ranks // self.inside, 1)
        return self.within.ring(local, size) + self.between.ring(machines, size)


def _gigabits(rate: float) -> float:
    return _USABLE * rate * 1e9 / 8


ETHERNET_10 = Network("10 GbE", Link(30e-6, _gigabits(10)))
ETHERNET_100 = Network("100 GbE", Link(15e-6, _gigabits(100)))
NVLINK = Network(
    "NVLink, 8 GPUs a machine, 100 GbE between", Link(15e-6, _gigabits(100)), 8,
    Link(5e-6, _USABLE * 450e9),
)  # fmt: skip


@dataclass(frozen=True)
class Work:
    """A training step of one rank.

    Attributes:
        parameters: float32 gradients of 4 bytes.
        samples: of a step, pictures or tokens.
        seconds: of a step of one rank alone.
    """

    name: str
    parameters: int
    samples: int
    seconds: float
    bucket_bytes: float = 8 * 2**20

    def step(self, ranks: int, network: Network) -> float:
        """Seconds of a step on that many ranks.

        >>> Work("w", 10**6, 1, 3.0).step(1, ETHERNET_10)
        3.0
        """
        if ranks == 1:
            return self.seconds
        slowest = self.seconds * (1 + _JITTER * math.sqrt(2 * math.log(ranks)))
        size = 4.0 * self.parameters
        count = max(math.ceil(size / self.bucket_bytes), 1)
        begins, backward = slowest * (1 - _BACKWARD), slowest * _BACKWARD
        free = 0.0  # when the network has sent what there was
        each = network.all_reduce(ranks, size / count)
        for bucket in range(1, count + 1):
            free = max(free, begins + backward * bucket / count) + each
        return max(free, slowest)

    def efficiency(self, ranks: int, network: Network) -> float:
        """Samples a second and rank, as a fraction of one rank's alone."""
        return self.seconds / self.step(ranks, network)


# Round figures. On two CPU cores: 394 and 762 GFLOP a step at 145 and 110 GFLOP/s; put in what
# tests/benchmarks/ranks.py and language.py find. On a GPU: of one data-centre GPU, not of Zoo.
WORKS = (
    Work("resnet50 on 2 CPU cores", 25_557_032, 16, 2.7),
    Work("gpt2 on 2 CPU cores", 124_439_808, 1024, 7.0),
    Work("resnet50 on a GPU of 800 pictures/s", 25_557_032, 256, 0.32),
    Work("gpt2 on a GPU of 40,000 tokens/s", 124_439_808, 16_384, 0.41),
)


def table(works: tuple[Work, ...], networks: tuple[Network, ...], markdown: bool) -> list[str]:
    """Efficiencies, a row for each work and network."""
    head = ["work", "network", *map(str, RANKS)]
    rows = [
        [w.name, n.name, *(f"{w.efficiency(r, n):.0%}" for r in RANKS)]
        for w in works
        for n in networks
        if n is not NVLINK or "GPU" in w.name
    ]
    if markdown:
        lines = [head, ["---"] * len(head), *rows]
        return ["| " + " | ".join(row) + " |" for row in lines]
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in [head, *rows]
    ]


def main() -> None:
    """Print the assumptions and the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--step", action="append", default=[], metavar="NAME=SECONDS",
        help="a step of resnet50 or gpt2 on this machine's CPU, as you measured it",
    )  # fmt: skip
    parser.add_argument("--markdown", action="store_true", help="a table for a page")
    args = parser.parse_args()
    measured = {name: float(value) for name, _, value in (s.partition("=") for s in args.step)}
    works = tuple(
        replace(w, seconds=measured.get(w.name.split()[0], w.seconds)) if "CPU" in w.name else w
        for w in WORKS
    )
    print("Efficiency by the number of ranks. Assumed:", ASSUMPTIONS, "", sep="\n")
    print("\n".join(table(works, (ETHERNET_10, ETHERNET_100, NVLINK), args.markdown)))


if __name__ == "__main__":
    main()
