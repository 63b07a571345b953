"""Functions of the public namespace that are made of native operations, a topic a file.

A topic is imported when one of its functions is first used: importing the engine stays quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.routines.diagonals import *  # noqa: F403
    from engine.routines.distributions import *  # noqa: F403
    from engine.routines.drawing import *  # noqa: F403
    from engine.routines.elementwise import *  # noqa: F403
    from engine.routines.indexing import *  # noqa: F403
    from engine.routines.joining import *  # noqa: F403
    from engine.routines.manipulation import *  # noqa: F403
    from engine.routines.missing import *  # noqa: F403
    from engine.routines.products import *  # noqa: F403
    from engine.routines.quantiles import *  # noqa: F403
    from engine.routines.rejection import *  # noqa: F403
    from engine.routines.searching import *  # noqa: F403
    from engine.routines.sets import *  # noqa: F403
    from engine.routines.signal import *  # noqa: F403
    from engine.routines.statistics import *  # noqa: F403

_TOPICS = {
    "diagonals": """
        diag diag_embed diagflat trace tril tril_indices triu triu_indices vander
    """,
    "distributions": """
        cauchy exponential gumbel laplace log_normal logistic normal pareto uniform
        weibull
    """,
    "drawing": """
        choice multinomial shuffle
    """,
    "elementwise": """
        addcdiv addcmul allclose array_equal betaln deg2rad entr float_power fmax fmin
        frac heaviside isclose lerp logaddexp2 multigammaln nan_to_num ndtr ndtri rad2deg
        xlog1py
    """,
    "indexing": """
        index_add index_copy index_fill index_select masked_fill masked_select
        put_along_axis take_along_axis
    """,
    "joining": """
        array_split block_diag cartesian_prod chunk column_stack combinations dstack
        hstack split vstack
    """,
    "manipulation": """
        atleast_1d atleast_2d atleast_3d broadcast_arrays broadcast_shapes flatten fliplr
        flipud matrix_transpose meshgrid moveaxis movedim narrow ravel repeat roll rot90
        select swapdims tile unflatten unstack
    """,
    "missing": """
        nanmax nanmean nanmin nanprod nanstd nansum nanvar
    """,
    "products": """
        addmm addmv baddbmm bmm cdist dot einsum inner kron mm mv outer pairwise_distance
        tensordot vecdot
    """,
    "quantiles": """
        histogram median nanmedian nanquantile quantile
    """,
    "rejection": """
        beta binomial chi2 dirichlet gamma geometric poisson student_t
    """,
    "searching": """
        argwhere bucketize count_nonzero digitize kthvalue searchsorted sort_with_indices
        topk
    """,
    "sets": """
        bincount isin unique_all unique_consecutive unique_counts unique_inverse
        unique_values
    """,
    "signal": """
        convolve correlate cumulative_trapezoid geomspace interp logspace trapezoid unwrap
    """,
    "statistics": """
        amax amin aminmax average corrcoef cov cumulative_prod cumulative_sum diff
        logsumexp ptp std_mean var_mean
    """,
}
_HOME = {name: topic for topic, names in _TOPICS.items() for name in names.split()}

__all__ = sorted(_HOME)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'engine.routines' has no attribute '{name}'")
    return getattr(importlib.import_module(f"engine.routines.{_HOME[name]}"), name)
