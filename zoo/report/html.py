"""Pages as trees: text becomes text by construction, whatever a folder is called.

The standard library's ElementTree writes them. Nothing here joins strings of markup, so there is
no place where escaping could be forgotten.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from xml.etree import ElementTree

Element = ElementTree.Element
Child = Element | str | None | Iterable["Child"]

# Controls have no meaning in a page. Marks of direction would turn the text around them.
_UNWANTED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

# A second wall behind the escaping: even markup that got in could run nothing and fetch nothing.
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


def h(tag: str, *children: Child, **attributes: object) -> Element:
    """An element. Attributes lose a trailing `_`, and `_` becomes `-`; None leaves one out.

    >>> show(h("p", "a < b", class_="x"))
    '<p class="x">a &lt; b</p>'
    """
    element = Element(tag)
    for name, value in attributes.items():
        if value is not None:
            element.set(name.rstrip("_").replace("_", "-"), clean(str(value)))
    _append(element, children)
    return element


def show(element: Element) -> str:
    """The text of an element and what is in it."""
    return ElementTree.tostring(element, encoding="unicode", method="html")


def document(title: str, style: str, *body: Child) -> bytes:
    """A whole page, UTF-8.

    Args:
        title: of the window.
        style: CSS of the page; the only argument that is taken as it is.
        body: what it shows.
    """
    head = h(
        "head",
        h("meta", charset="utf-8"),
        h("meta", **{"http-equiv": "Content-Security-Policy", "content": _POLICY}),
        h("meta", name="viewport", content="width=device-width, initial-scale=1"),
        h("meta", name="color-scheme", content="light dark"),
        h("title", title),
        h("style", style),
    )
    page = h("html", head, h("body", *body), lang="en")
    return f"<!DOCTYPE html>\n{show(page)}\n".encode()


def clean(text: str) -> str:
    """`text` without characters that a page cannot hold or that reorder what is around them."""
    return _UNWANTED.sub(_REPLACEMENT, text)


def _append(element: Element, children: Iterable[Child]) -> None:
    for child in children:
        if child is None:
            continue
        if isinstance(child, Element):
            element.append(child)
        elif not isinstance(child, str):
            _append(element, child)
        elif len(element):
            element[-1].tail = (element[-1].tail or "") + clean(child)
        else:
            element.text = (element.text or "") + clean(child)
