"""Random numbers: the published test vector, distributions, state, and the same numbers for any
thread count and instruction set."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import engine
from engine import _C
from tests.threads import assert_same_for_any_thread_count

N = 400_000


def philox(counter: list[int], key: list[int]) -> list[int]:
    """Philox4x32-10 as the paper writes it, one counter at a time."""
    c, k = list(counter), list(key)
    for _ in range(10):
        high0, low0 = divmod(0xD2511F53 * c[0], 1 << 32)
        high1, low1 = divmod(0xCD9E8D57 * c[2], 1 << 32)
        c = [high1 ^ c[1] ^ k[0], low1, high0 ^ c[3] ^ k[1], low0]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def test_the_reference_reproduces_the_published_vector() -> None:
    # Random123's kat_vectors: philox 4x32, 10 rounds, zero counter, zero key.
    assert philox([0] * 4, [0] * 2) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]


def test_uniform_numbers_are_the_published_generators_words() -> None:
    seed = 0x0123456789ABCDEF
    drawn = _C.rand(128, engine.float32, engine.Generator(seed)).numpy()
    key = [seed & 0xFFFFFFFF, seed >> 32]
    words = [philox([i, 0, 0, 0], key) for i in range(32)]
    wanted = [(words[e % 32][e // 32] >> 8) / 2**24 for e in range(128)]
    assert drawn.tolist() == wanted


def test_float64_numbers_have_53_random_bits() -> None:
    words = [philox([i, 0, 0, 0], [0, 0]) for i in range(32)]
    wanted = [
        ((words[e % 32][2 * (e // 32)] << 32 | words[e % 32][2 * (e // 32) + 1]) >> 11) / 2**53
        for e in range(64)
    ]
    assert _C.rand(64, engine.float64, engine.Generator(0)).tolist() == wanted


@pytest.mark.parametrize("dtype", [engine.float32, engine.float64])
def test_uniform_numbers_fill_the_interval_evenly(dtype) -> None:
    u = _C.rand(N, dtype, engine.Generator(1)).numpy()
    assert u.min() >= 0 and u.max() < 1
    counts = np.histogram(u, 100, (0, 1))[0]
    assert ((counts - N / 100) ** 2 / (N / 100)).sum() < 170  # chi-square, 99 degrees: p ~ 1e-5


@pytest.mark.parametrize("dtype", [engine.float16, engine.bfloat16])
def test_sixteen_bit_uniform_numbers_stay_below_one(dtype) -> None:
    u = _C.rand(N, dtype, engine.Generator(1)).astype(engine.float32).numpy()
    assert u.min() >= 0 and u.max() < 1


@pytest.mark.parametrize("dtype", [engine.float32, engine.float64])
def test_normal_numbers_have_normal_moments_and_tails(dtype) -> None:
    z = _C.randn(N, dtype, engine.Generator(2)).numpy().astype(np.float64)
    assert abs(z.mean()) < 0.008
    assert abs(z.std() - 1) < 0.006
    assert abs((z**3).mean()) < 0.03
    assert abs((z**4).mean() - 3) < 0.08
    for bound, share in ((1, 0.682689), (2, 0.954500), (3, 0.997300)):
        assert abs((np.abs(z) < bound).mean() - share) < 4 * np.sqrt(share * (1 - share) / N)
    assert abs(np.corrcoef(z[:-1], z[1:])[0, 1]) < 0.008


def test_normal_numbers_are_box_and_mullers() -> None:
    z = _C.randn(64, engine.float64, engine.Generator(0)).numpy()
    for i in range(32):
        w = philox([i, 0, 0, 0], [0, 0])
        radius = np.sqrt(-2 * np.log((((w[0] << 32 | w[1]) >> 11) + 0.5) / 2**53))
        angle = 2 * np.pi * ((((w[2] << 32 | w[3]) >> 11) + 0.5) / 2**53) - np.pi / 4
        np.testing.assert_allclose(
            [z[i], z[32 + i]], [radius * np.cos(angle), radius * np.sin(angle)], rtol=1e-13
        )


def test_randint_covers_its_range_evenly() -> None:
    x = _C.randint(-3, 4, N, engine.int32, engine.Generator(3))
    assert x.dtype == engine.int32
    values, counts = np.unique(x.numpy(), return_counts=True)
    assert values.tolist() == [-3, -2, -1, 0, 1, 2, 3]
    assert np.abs(counts - N / 7).max() < 5 * np.sqrt(N / 7)


def test_randint_takes_the_whole_range_of_int64() -> None:
    low, high = -(2**63), 2**63 - 1
    x = _C.randint(low, high, 1000, None, engine.Generator(3)).numpy()
    assert (x < 0).any() and (x > 0).any() and np.abs(x.astype(float)).max() > 2**62


def test_randperm_holds_every_number_once() -> None:
    p = _C.randperm(1000, engine.Generator(4)).numpy()
    assert sorted(p.tolist()) == list(range(1000))
    assert (p != np.arange(1000)).mean() > 0.9


def test_every_permutation_of_three_is_as_likely() -> None:
    generator = engine.Generator(5)
    seen: dict[tuple[int, ...], int] = {}
    for _ in range(6000):
        key = tuple(_C.randperm(3, generator).tolist())
        seen[key] = seen.get(key, 0) + 1
    assert len(seen) == 6
    assert max(abs(n - 1000) for n in seen.values()) < 150


def test_bernoulli_follows_each_probability() -> None:
    p = engine.asarray(np.repeat(np.float32([0, 0.25, 1]), 100_000).reshape(3, -1))
    y = _C.bernoulli(p, engine.Generator(6)).numpy()
    assert (y[0] == 0).all() and (y[2] == 1).all()
    assert abs(y[1].mean() - 0.25) < 0.006


def test_bernoulli_names_what_is_no_probability() -> None:
    with pytest.raises(ValueError, match="probability 1.5 at position 1"):
        _C.bernoulli(engine.asarray([0.5, 1.5]))


def test_filling_in_place_does_not_depend_on_the_memory_order() -> None:
    plain, last = engine.empty((2, 3, 4, 5)), engine.empty((2, 3, 4, 5)).contiguous("channels_last")
    for t in (plain, last):
        _C.normal_(t, 1.0, 2.0, engine.Generator(7))
    np.testing.assert_array_equal(plain.numpy(), last.numpy())


def test_filling_in_place_counts_as_a_change() -> None:
    t = engine.empty(3)
    before = t.version
    _C.uniform_(t)
    assert t.version > before


def test_uniform_stays_below_high_even_when_rounding_would_reach_it() -> None:
    t = engine.empty(N)
    _C.uniform_(t, 1.0, 1.0000001, engine.Generator(8))
    assert set(np.unique(t.numpy())) == {np.float32(1)}
    _C.uniform_(t, -2.0, 6.0, engine.Generator(8))
    assert t.numpy().min() >= -2 and t.numpy().max() < 6
    assert abs(t.numpy().mean() - 2) < 0.02


def test_truncated_normal_stays_inside_with_the_right_spread() -> None:
    t = engine.empty(N)
    _C.trunc_normal_(t, 0.0, 1.0, -2.0, 2.0, engine.Generator(9))
    z = t.numpy()
    assert z.min() >= -2 and z.max() <= 2
    assert abs(z.mean()) < 0.008
    assert abs(z.std() - 0.8796) < 0.005  # of the standard normal cut at two deviations


def test_truncating_almost_everything_away_is_refused() -> None:
    with pytest.raises(ValueError, match=r"lies in \[8, 9\]"):
        _C.trunc_normal_(engine.empty(3), 0.0, 1.0, 8.0, 9.0)


def test_a_seed_repeats_and_another_differs() -> None:
    engine.manual_seed(12)
    first = _C.rand(5).tolist()
    engine.manual_seed(12)
    assert _C.rand(5).tolist() == first
    engine.manual_seed(13)
    assert _C.rand(5).tolist() != first


def test_state_goes_out_and_back() -> None:
    engine.manual_seed(14)
    _C.rand(1000)
    state = engine.get_rng_state()
    first = _C.randn(5).tolist()
    engine.set_rng_state(state)
    assert _C.randn(5).tolist() == first
    assert state == {"seed": 14, "offset": 256}  # 8 groups of 32 counters for 1,000 numbers


def test_a_generator_is_independent_of_the_default_one() -> None:
    engine.manual_seed(15)
    before = engine.get_rng_state()
    generator = engine.Generator(15)
    _C.rand(5, None, generator)
    assert engine.get_rng_state() == before
    other = engine.Generator(0)
    other.set_state(generator.get_state())
    assert _C.rand(5, None, other).tolist() == _C.rand(5, None, generator).tolist()


def test_a_wrong_state_is_refused() -> None:
    with pytest.raises(ValueError, match="'seed' and 'offset'"):
        engine.set_rng_state({"seed": 1})


@pytest.mark.parametrize("call", [lambda: _C.randint(3, 3, 5), lambda: _C.randperm(-1)])
def test_empty_ranges_are_refused(call) -> None:
    with pytest.raises(ValueError, match="low 3|-1"):
        call()


def numbers() -> list[engine.Tensor]:
    g = engine.Generator(123)
    t = engine.empty(5000)
    _C.trunc_normal_(t, 0.5, 2.0, -1.0, 2.0, g)
    return [
        t, _C.rand(100_001, None, g), _C.randn(100_001, None, g), _C.randn(999, engine.float64, g),
        _C.randint(0, 1000, 9999, None, g), _C.randperm(999, g),
        _C.uniform_(engine.empty(9999), -0.3, 0.7, g),
    ]  # fmt: skip


def test_numbers_are_the_same_for_any_thread_count() -> None:
    assert_same_for_any_thread_count(numbers)


def test_numbers_are_the_same_for_every_instruction_set() -> None:
    program = (
        "import hashlib\n"
        "from tests.engine.test_random import numbers\n"
        "print(hashlib.sha256(b''.join(t.numpy().tobytes() for t in numbers())).hexdigest())"
    )
    root = Path(engine.__file__).resolve().parents[1]
    tests = Path(__file__).resolve().parents[2]
    digests = {
        subprocess.run(
            [sys.executable, "-c", program], check=True, capture_output=True, text=True,
            env=os.environ | {"ZOO_CPU_ISA": isa, "PYTHONPATH": f"{root}{os.pathsep}{tests}"},
        ).stdout
        for isa in ("baseline", "avx2", "avx512")
    }  # fmt: skip
    assert len(digests) == 1


@pytest.mark.parametrize("fill", [engine.uniform_, engine.normal_, engine.trunc_normal_])
def test_filling_in_place_takes_no_other_memory(fill) -> None:
    t = engine.empty((1000, 1000))
    engine.reset_peak_memory_stats()
    before = engine.memory_stats()["allocated_bytes"]
    fill(t, generator=engine.Generator(3))
    assert engine.memory_stats()["peak_allocated_bytes"] - before < 1 << 20
    # Another order in memory, the same numbers at the same places.
    turned = engine.empty((1000, 1000)).T
    fill(turned, generator=engine.Generator(3))
    assert (turned.numpy() == t.numpy()).all()
