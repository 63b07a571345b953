"""Reads a page with the standard library's parser, as a browser would see it."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"meta", "img", "br", "link", "input"}


class Page(HTMLParser):
    """The elements of a page: `tags`, their attributes and texts."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.elements: list[tuple[str, dict[str, str], list[str]]] = []
        self._open: list[list[str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        texts: list[str] = []
        self.elements.append((tag, {name: value or "" for name, value in attrs}, texts))
        if tag not in VOID:
            self._open.append(texts)

    def handle_endtag(self, tag: str) -> None:
        if self._open:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        for texts in self._open:
            texts.append(data)

    def text_of(self, tag: str, **attributes: str) -> str:
        """The text in the first element of that tag with those attributes."""
        return next(
            "".join(texts)
            for name, has, texts in self.elements
            if name == tag and attributes.items() <= has.items()
        )

    def attributes_of(self, tag: str) -> list[dict[str, str]]:
        """Attributes of every element of that tag."""
        return [has for name, has, _ in self.elements if name == tag]


def read_page(content: bytes) -> Page:
    """Parse a page."""
    page = Page()
    page.feed(content.decode("utf-8"))
    page.close()
    return page
