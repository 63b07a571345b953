"""Reads the pickles inside `.pth` files as data: nothing is imported and nothing is called.

A pickle is a program for a small stack machine. This machine knows only the opcodes that tensors
and plain containers need, and the globals a program may name are looked up in a table of names,
never in Python's modules. Any other global raises `UnsafePickle` where it is named, that is before
the program could use it. "Calling" one of them builds a plain value of `hub.pickle_values`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from hub.errors import CorruptCheckpoint, UnsupportedFormat
from hub.pickle_values import Global, StorageRef, allowed_global, plain_key, storage_ref

# The pickle of 80,000 tensors stays below it; their data is not part of it.
MAX_PICKLE_BYTES = 16 << 20
# One opcode byte can make an object of 70 bytes or more. Programs of tensors have five bytes an
# opcode and a file around them, so this keeps memory below ten times the file and hinders nobody.
_FREE_STEPS = 100_000
_BYTES_A_STEP = 12
_MAX_LONG_BYTES = 64


@dataclass(frozen=True)
class Pickle:
    """An interpreted pickle: its value, the offset behind it, the storages it named by key."""

    value: Any
    end: int
    storages: dict[str, StorageRef]


_MARK = object()


def read_pickle(
    data: memoryview,
    start: int = 0,
    *,
    file_bytes: int = 0,
    resolve: Callable[[Any], Any] | None = None,
) -> Pickle:
    """Interpret one pickle.

    Args:
        data: bytes that hold the pickle.
        start: offset of its first opcode.
        file_bytes: size of the file around it, if that is more than `data`: it bounds the program.
        resolve: what a persistent id stands for; default: a `StorageRef`, kept in `storages`.

    Raises:
        UnsafePickle: it names a global that is not on the allow list.
        CorruptCheckpoint: it is cut short or no sequence of opcodes makes sense of it.
        UnsupportedFormat: it uses an opcode that no weights file needs, or too many for its file.

    >>> read_pickle(memoryview(bytes.fromhex("80024b072e"))).value
    7
    """
    most = _FREE_STEPS + max(file_bytes, len(data)) // _BYTES_A_STEP
    machine = _Machine(data, start, resolve, most)
    value = machine.run()
    return Pickle(value, machine.at, machine.storages)


class _Machine:
    def __init__(
        self, data: memoryview, start: int, resolve: Callable[[Any], Any] | None, most: int
    ) -> None:
        self.data = data
        self.most_steps = most
        self.resolve = resolve or self._storage
        self.at = start
        self.end = min(len(data), start + MAX_PICKLE_BYTES)
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}
        self.storages: dict[str, StorageRef] = {}

    def run(self) -> Any:
        for _ in range(self.most_steps):
            opcode = self.take(1)[0]
            if opcode == 0x2E:  # STOP
                return self.pop()
            step = _STEPS.get(opcode)
            if step is None:
                raise UnsupportedFormat(
                    f"the pickle uses opcode 0x{opcode:02x} at byte {self.at - 1}, which weights "
                    "files do not need. Save torch.save(model.state_dict(), PATH) with the "
                    "default pickle_protocol, or use .safetensors."
                )
            try:
                step(self)
            except (TypeError, ValueError, IndexError, KeyError, struct.error) as error:
                _corrupt(
                    f"opcode 0x{opcode:02x} at byte {self.at} does not fit: {str(error)[:120]}"
                )

        raise UnsupportedFormat(
            f"the pickle has more than {self.most_steps:,} opcodes, which is out of proportion to "
            "its file. Save torch.save(model.state_dict(), PATH), without other objects."
        )

    def take(self, count: int) -> memoryview:
        if count > self.end - self.at:
            _corrupt(f"it ends at byte {self.end}, but {count:,} more are needed at {self.at}")
        piece = self.data[self.at : self.at + count]
        self.at += count
        return piece

    def number(self, count: int) -> int:
        return int.from_bytes(self.take(count), "little")

    def text(self, count: int) -> str:
        return str(self.take(count), "utf-8", "surrogatepass")

    def line(self) -> str:
        chunk = bytes(self.data[self.at : min(self.end, self.at + 512)])
        length = chunk.find(b"\n")
        if length < 0:
            _corrupt(f"the name at byte {self.at} has no end")
        self.at += length + 1
        return chunk[:length].decode("utf-8")

    def push(self, value: Any) -> None:
        self.stack.append(value)

    def pop(self) -> Any:
        if not self.stack or self.stack[-1] is _MARK:
            _corrupt(f"nothing is on the stack at byte {self.at}")
        return self.stack.pop()

    def pop_to_mark(self) -> list[Any]:
        for position in range(len(self.stack) - 1, -1, -1):
            if self.stack[position] is _MARK:
                items = self.stack[position + 1 :]
                del self.stack[position:]
                return items
        _corrupt(f"no MARK is on the stack at byte {self.at}")

    def top(self, kind: type) -> Any:
        if not self.stack or not isinstance(self.stack[-1], kind):
            _corrupt(f"a {kind.__name__} was expected on the stack at byte {self.at}")
        return self.stack[-1]

    def set_items(self, items: list[Any]) -> None:
        target = self.top(dict)
        for key, value in zip(items[::2], items[1::2], strict=True):
            target[plain_key(key)] = value

    def long(self, count: int) -> None:
        if count > _MAX_LONG_BYTES:
            raise ValueError(f"an integer of {count} bytes")
        self.push(int.from_bytes(self.take(count), "little", signed=True))

    def find_global(self, module: str, name: str) -> None:
        self.push(allowed_global(module, name))

    def stack_global(self) -> None:
        name, module = self.pop(), self.pop()
        if not isinstance(name, str) or not isinstance(module, str):
            raise TypeError("a global's name is no string")
        self.find_global(module, name)

    def reduce(self) -> None:
        arguments, target = self.pop(), self.pop()
        if not isinstance(target, Global) or target.build is None:
            raise TypeError("the value called is no constructor")
        if not isinstance(arguments, tuple):
            raise TypeError(f"the arguments of {target.name} are no tuple")
        self.push(target.build(*arguments))

    def build(self) -> None:
        # State of an object: an OrderedDict's attributes (`_metadata`), a Parameter's. Not needed.
        self.pop()
        self.top(object)

    def persistent(self) -> None:
        self.push(self.resolve(self.pop()))

    def _storage(self, reference: Any) -> StorageRef:
        storage = storage_ref(reference)
        if self.storages.setdefault(storage.key, storage) != storage:
            raise ValueError(f"storage {storage.key[:40]!r} is described in two ways")
        return storage


def _corrupt(fault: str) -> NoReturn:
    raise CorruptCheckpoint(f"the pickle is damaged: {fault}. Copy or download the file again.")


def _put(machine: _Machine, index: int) -> None:
    machine.memo[index] = machine.top(object)


def _append(machine: _Machine, items: list[Any]) -> None:
    machine.top(list).extend(items)


def _two(machine: _Machine) -> list[Any]:
    value, key = machine.pop(), machine.pop()
    return [key, value]


def _last(machine: _Machine, count: int) -> tuple[Any, ...]:
    return tuple(machine.pop() for _ in range(count))[::-1]


def _raw(machine: _Machine, count: int) -> None:
    machine.push(bytes(machine.take(count)))


_STEPS: dict[int, Callable[[_Machine], Any]] = {
    0x80: lambda m: m.take(1),  # PROTO
    0x95: lambda m: m.take(8),  # FRAME
    ord("("): lambda m: m.push(_MARK),
    ord("0"): lambda m: m.pop(),
    ord("1"): lambda m: m.pop_to_mark(),
    ord("N"): lambda m: m.push(None),
    0x88: lambda m: m.push(True),
    0x89: lambda m: m.push(False),
    ord("J"): lambda m: m.push(int.from_bytes(m.take(4), "little", signed=True)),  # BININT
    ord("K"): lambda m: m.push(m.number(1)),  # BININT1
    ord("M"): lambda m: m.push(m.number(2)),  # BININT2
    0x8A: lambda m: m.long(m.number(1)),  # LONG1
    0x8B: lambda m: m.long(m.number(4)),  # LONG4
    ord("G"): lambda m: m.push(struct.unpack(">d", m.take(8))[0]),  # BINFLOAT
    ord("X"): lambda m: m.push(m.text(m.number(4))),  # BINUNICODE
    0x8C: lambda m: m.push(m.text(m.number(1))),  # SHORT_BINUNICODE
    0x8D: lambda m: m.push(m.text(m.number(8))),  # BINUNICODE8
    ord("T"): lambda m: m.push(str(m.take(m.number(4)), "latin-1")),  # BINSTRING (Python 2)
    ord("U"): lambda m: m.push(str(m.take(m.number(1)), "latin-1")),  # SHORT_BINSTRING
    ord("B"): lambda m: _raw(m, m.number(4)),  # BINBYTES
    ord("C"): lambda m: _raw(m, m.number(1)),  # SHORT_BINBYTES
    ord(")"): lambda m: m.push(()),
    0x85: lambda m: m.push(_last(m, 1)),  # TUPLE1
    0x86: lambda m: m.push(_last(m, 2)),
    0x87: lambda m: m.push(_last(m, 3)),
    ord("t"): lambda m: m.push(tuple(m.pop_to_mark())),
    ord("]"): lambda m: m.push([]),
    ord("l"): lambda m: m.push(m.pop_to_mark()),
    ord("a"): lambda m: _append(m, [m.pop()]),
    ord("e"): lambda m: _append(m, m.pop_to_mark()),
    ord("}"): lambda m: m.push({}),
    ord("s"): lambda m: m.set_items(_two(m)),
    ord("u"): lambda m: m.set_items(m.pop_to_mark()),
    ord("q"): lambda m: _put(m, m.number(1)),  # BINPUT
    ord("r"): lambda m: _put(m, m.number(4)),  # LONG_BINPUT
    0x94: lambda m: _put(m, len(m.memo)),  # MEMOIZE
    ord("h"): lambda m: m.push(m.memo[m.number(1)]),  # BINGET
    ord("j"): lambda m: m.push(m.memo[m.number(4)]),  # LONG_BINGET
    ord("c"): lambda m: m.find_global(m.line(), m.line()),  # GLOBAL
    0x93: lambda m: m.stack_global(),
    ord("R"): lambda m: m.reduce(),
    ord("b"): lambda m: m.build(),
    ord("Q"): lambda m: m.persistent(),  # BINPERSID
}
