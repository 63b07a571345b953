"""What is wrong with a CUDA installation, and what to do about it."""

from __future__ import annotations


class CudaError(RuntimeError):
    """Something that CUDA needs is missing or does not serve. `problem` says what, `advice` what
    to do, `missing` whether it is not there at all; the text is both sentences.

    >>> str(CudaError("no driver", "Install one", missing=True))
    'no driver. Install one'
    """

    def __init__(self, problem: str, advice: str, *, missing: bool = False) -> None:
        super().__init__(f"{problem}. {advice}")
        self.problem, self.advice, self.missing = problem, advice, missing
