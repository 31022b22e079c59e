"""Parts of the program that other packages bring, found by their entry points.

Names are read from the metadata of installed distributions; the code of a part is imported when
somebody asks for it by name. Does not know what the parts are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import TypeVar

from textbase.errors import UsageError

T = TypeVar("T")


class Registry(dict[str, T]):
    """Parts of one kind by name: the program's own, and another package's once it was asked for.

    `names` lists those too that nobody has asked for. A name of the program's own is never another
    package's.
    """

    def __init__(
        self,
        group: str,
        noun: str,
        kind: type[T],
        parts: Iterable[T],
        names: Callable[[T], Collection[str]] = lambda part: [getattr(part, "name", "")],
    ) -> None:
        """`group` is that of the entry points, each of which is an object of class `kind`; `noun`
        names such a part in messages; `names` returns the names by which a part is known."""
        super().__init__({name: part for part in parts for name in names(part)})
        self.group, self.noun, self._kind, self._names_of = group, noun, kind, names
        self._own_names = frozenset(self)

    @cached_property
    def extensions(self) -> Sequence[EntryPoint]:
        """The entry points of other packages, usable or not; imports none of them."""
        return sorted(entry_points(group=self.group), key=lambda entry: entry.name)

    def names(self) -> list[str]:
        """Returns the names of all parts, the program's own first; imports nothing."""
        return list(dict.fromkeys([*self, *(entry.name for entry in self.extensions)]))

    def knows(self, name: str) -> bool:
        """Returns whether there is a part of this name; imports nothing."""
        return name in self or name in self.names()

    def is_own(self, name: str) -> bool:
        """Returns whether a part is the program's own; no package can replace it."""
        return name in self._own_names

    def __missing__(self, name: str) -> T:
        """Imports a part of another package. Raises KeyError, UsageError."""
        entries = [entry for entry in self.extensions if entry.name == name]
        if not entries:
            raise KeyError(name)
        if len(entries) > 1:
            packages = " and ".join(distribution(entry) for entry in entries)
            raise UsageError(f"{self.noun} {name}: {packages} bring one; uninstall all but one")
        part = self._load(entries[0])
        self[name] = part
        return part

    def _load(self, entry: EntryPoint) -> T:
        label = f"{self.noun} {entry.name} of the package {distribution(entry)}"
        try:
            part = entry.load()
        except Exception as error:  # the code of others may raise anything
            reason = next(iter(str(error).splitlines()), "")
            raise UsageError(
                f"{label} cannot be loaded ({type(error).__name__}: {reason}); mend or uninstall it"
            ) from error
        if not isinstance(part, self._kind):
            raise UsageError(f"{label}: {entry.value} is not an object of {self._kind.__name__}")
        if entry.name not in self._names_of(part):
            names = ", ".join(self._names_of(part))
            raise UsageError(f"{label}: {entry.value} calls itself {names!r}")
        return part


def distribution(entry: EntryPoint) -> str:
    """Returns the name and version of the package that an entry point belongs to."""
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist else "of an unknown name"
