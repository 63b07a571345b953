"""The public names of engine, zoo and hub, and the pages of the reference that they stand on."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any


@dataclass(frozen=True)
class Page:
    """A page of the reference: the public names of a module, or some of them.

    Attributes:
        file: under docs/reference.
        title: its heading.
        module: where the names are looked up.
        text: what stands below the heading.
        topics: headings and the names below each; {} puts all names of the module on the page.
    """

    file: str
    title: str
    module: str
    text: str
    topics: dict[str, tuple[str, ...]] = field(default_factory=dict)


_TENSORS = {
    "The class": ("Tensor",),
    "Types and places": (
        "dtype", "Device", "dtype_named", "promote_types", "result_type", "can_cast", "isdtype",
        "finfo", "iinfo", "astype",
    ),
    "From and to other libraries": ("asarray", "from_numpy", "from_dlpack"),
    "Making": (
        "zeros", "ones", "full", "empty", "eye", "arange", "linspace", "logspace", "geomspace",
        "zeros_like", "ones_like", "full_like", "empty_like", "vander", "tril_indices",
        "triu_indices", "meshgrid",
    ),
    "Complex numbers": ("real", "imag", "conj"),
}  # fmt: skip
_SHAPES = {
    "Shape and axes": (
        "reshape", "permute_dims", "swapaxes", "squeeze", "expand_dims", "broadcast_to", "flip",
        "diagonal",
    ),
    "Joining": ("concat", "stack"),
    "Picking and placing": ("take", "where", "nonzero", "gather", "scatter", "scatter_add"),
    "Order": ("sort", "argsort"),
}  # fmt: skip
_SUMS = {
    "Reductions": (
        "sum", "prod", "mean", "var", "std", "max", "min", "any", "all", "argmax", "argmin",
    ),
    "Running": ("cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", "linear_scan"),
    "Products": ("matmul",),
}  # fmt: skip
_LAYERS = {
    "Layers": (
        "linear", "conv2d", "conv_transpose2d", "batch_norm", "layer_norm", "max_pool2d",
        "avg_pool2d", "adaptive_avg_pool2d", "dropout", "embedding", "normalize_images",
    ),
    "Activations": (
        "elu", "celu", "softshrink", "hardshrink", "hardtanh", "softplus", "threshold", "softmax",
        "log_softmax",
    ),
    "Losses": ("cross_entropy",),
    "Steps of optimizers": ("sgd_step", "adamw_step", "grad_norm", "scale_grads"),
}  # fmt: skip
_RANDOM = {
    "Generators": ("Generator", "manual_seed", "get_rng_state", "set_rng_state"),
    "Random tensors": (
        "rand", "randn", "randint", "randperm", "bernoulli", "uniform_", "normal_", "trunc_normal_",
    ),
}  # fmt: skip
_SYSTEM = {
    "Gradients": (
        "grad", "no_grad", "enable_grad", "inference_mode", "autocast", "is_grad_enabled",
        "set_grad_enabled",
        "Node", "AutogradError",
    ),
    "Threads and the processor": (
        "get_num_threads", "set_num_threads", "cpu_isa", "get_conv_algorithm",
        "set_conv_algorithm",
    ),
    "Memory": ("memory_stats", "reset_peak_memory_stats", "empty_cache"),
    "Extensions and standards": ("get_include", "__array_namespace_info__"),
}  # fmt: skip
# Modules of engine.routines, each a heading of its own, by page.
_ROUTINES = {
    "elementwise": ("elementwise",),
    "shapes": (
        "manipulation", "joining", "indexing", "searching", "sets", "diagonals",
    ),
    "sums": ("statistics", "quantiles", "missing", "products", "signal"),
    "random": ("distributions", "rejection", "drawing"),
}  # fmt: skip


def _routines(page: str, taken: set[str]) -> dict[str, tuple[str, ...]]:
    """The functions of engine.routines that go to a page, below what their module says it holds."""
    found = {}
    for name in _ROUTINES[page]:
        module = importlib.import_module(f"engine.routines.{name}")
        heading = (module.__doc__ or "").partition("\n")[0].partition(":")[0].rstrip(".")
        heading = heading.partition(" that ")[0] if page == "random" else heading
        names = tuple(sorted(n for n, v in _values("engine") if v.__module__ == module.__name__))
        found[heading] = tuple(n for n in names if n not in taken)
    return found


def _values(module: str) -> Iterator[tuple[str, Any]]:
    """(name, value) of the public names of a module that are classes or functions."""
    loaded = importlib.import_module(module)
    for name in sorted(set(names_of(loaded))):
        value = getattr(loaded, name)
        if callable(value) and not _is_constant(value):
            yield name, value


def _is_constant(value: Any) -> bool:
    import engine

    return isinstance(value, engine.dtype)


def names_of(module: ModuleType) -> list[str]:
    """`__all__`, or where a module has none, what is defined in it."""
    if hasattr(module, "__all__"):
        return list(module.__all__)
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
        and (inspect.isclass(value) or inspect.isfunction(value))
    ]  # fmt: skip


def constants_of(module: str) -> dict[str, Any]:
    """Public names of a module that are neither functions nor classes nor modules."""
    loaded = importlib.import_module(module)
    return {
        name: getattr(loaded, name)
        for name in sorted(set(names_of(loaded)))
        if not inspect.ismodule(getattr(loaded, name))
        and (not callable(getattr(loaded, name)) or _is_constant(getattr(loaded, name)))
    }


def pages() -> list[Page]:
    """All pages of the reference, in the order of the navigation."""
    first = {
        "tensors": _TENSORS, "shapes": _SHAPES, "sums": _SUMS, "random": _RANDOM,
        "layers": _LAYERS, "system": _SYSTEM,
    }  # fmt: skip
    taken = {name for topics in first.values() for names in topics.values() for name in names}
    for page in ("shapes", "sums", "random"):
        first[page] = {**first[page], **_routines(page, taken)}
    made = _routines("elementwise", taken)
    taken |= {n for topics in (*first.values(), made) for names in topics.values() for n in names}
    rest = tuple(n for n, _ in _values("engine") if n not in taken)
    first["elementwise"] = {"Element by element": rest, **made}
    engine_pages = [
        Page(f"engine/{file}.md", title, "engine", text, first[file])
        for file, title, text in _ENGINE_PAGES
    ]
    return [*engine_pages, *_WHOLE_MODULES]


_ENGINE_PAGES = (
    ("tensors", "Tensors", "The class, its dtypes, and how tensors are made."),
    ("elementwise", "Elementwise", "Functions of each element; operands broadcast."),
    ("shapes", "Shapes, joining, picking, order", "What moves elements and does not change them."),
    ("sums", "Sums, products, statistics", "What makes fewer numbers out of many."),
    ("random", "Random numbers", "Counter-based: one seed, one result, for any thread count."),
    ("layers", "Kernels of networks", "What `engine.nn.functional` and `engine.optim` call."),
    ("system", "Gradients, threads, memory", "Modes and figures of the process."),
)

_WHOLE_MODULES = [
    Page("engine/linalg.md", "engine.linalg", "engine.linalg", "Linear algebra, with gradients."),
    Page("engine/fft.md", "engine.fft", "engine.fft", "Fourier transforms, with gradients."),
    Page("engine/autograd.md", "engine.autograd", "engine.autograd", "Gradients by tape."),
    Page(
        "engine/autograd-functional.md",
        "engine.autograd.functional",
        "engine.autograd.functional",
        "Jacobians, Hessians and products with them.",
    ),
    Page("engine/nn.md", "engine.nn", "engine.nn", "Layers, under PyTorch's names and keys."),
    Page(
        "engine/functional.md",
        "engine.nn.functional",
        "engine.nn.functional",
        "What layers compute, as functions. `from engine.nn import functional as F`.",
    ),
    Page("engine/init.md", "engine.nn.init", "engine.nn.init", "First values of parameters."),
    Page("engine/optim.md", "engine.optim", "engine.optim", "Optimizers and schedules."),
    Page(
        "engine/distributed.md",
        "engine.distributed",
        "engine.distributed",
        "Several processes that work on the same tensors, over MPI.",
    ),
    Page("engine/amp.md", "engine.amp", "engine.amp", "Mixed precision."),
    Page("engine/cuda.md", "engine.cuda", "engine.cuda", "What is known of GPUs."),
    Page("zoo/zoo.md", "zoo", "zoo", "Models, fine-tuning, results; and errors of loading."),
    Page("zoo/models.md", "Models", "zoo.models.zoo_model", "What all models have."),
    Page("zoo/image-model.md", "Models of pictures", "zoo.models.image_model", "ResNet and VGG."),
    Page("zoo/text-model.md", "Models of text", "zoo.models.text_model", "GPT-2 and its like."),
    Page("zoo/registry.md", "zoo.registry", "zoo.registry", "Names, variants and their cards."),
    Page("zoo/data.md", "zoo.data", "zoo.data", "Folders and lists of pictures, and batches."),
    Page("zoo/demo.md", "zoo.demo", "zoo.demo", "The embedded digits."),
    Page("zoo/text.md", "zoo.text", "zoo.text", "Tokenizers, corpora, generation, perplexity."),
    Page("zoo/train.md", "zoo.train", "zoo.train", "Training, prediction and callbacks."),
    Page("zoo/doctor.md", "zoo.doctor", "zoo.doctor", "What is wrong with an installation."),
    Page("zoo/bench.md", "zoo.bench", "zoo.bench", "Figures of this machine."),
    Page("zoo/export.md", "zoo.export", "zoo.export", "Files of other programs."),
    Page("hub.md", "hub", "hub", "Cards, downloads, the cache and readers of weight files."),
]


def documented() -> dict[str, Any]:
    """Dotted name and value of every public class and function, where its page looks it up."""
    found = {}
    for page in pages():
        values = dict(_values(page.module))
        names = [n for names in page.topics.values() for n in names] or values
        found |= {f"{page.module}.{name}": values[name] for name in names}
    return found


def public() -> Iterator[str]:
    """Dotted names of every public class and function of engine, zoo and hub."""
    for module in ("engine", *dict.fromkeys(p.module for p in _WHOLE_MODULES)):
        yield from (f"{module}.{name}" for name, _ in _values(module))


def public_of(module: str) -> list[str]:
    """Names of the public classes and functions of a module."""
    return [name for name, _ in _values(module)]
