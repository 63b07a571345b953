"""The cards that ship, and the schema that they keep to."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

import hub
from hub.cards import (
    Card,
    CardClasses,
    CardFile,
    CardInput,
    CardMetric,
    CardText,
    cards_folder,
    parse_card,
)
from tests.hub.conftest import CARD

SHIPPED = hub.load_cards()
FILE = '  - {url: "https://host/w.pth", format: pth, verified: prefix, sha256_prefix: "0123abcd"}'
TEXT = CARD.format(files=FILE)
TORCHVISION = "https://download.pytorch.org/models/"


def changed(old: str, new: str) -> str:
    assert old in TEXT
    return TEXT.replace(old, new)


def test_the_sample_is_a_card() -> None:
    card = parse_card(TEXT, "tiny.test")
    assert (card.arch, card.input.mean, card.files[0].digest) == ("tiny", (0, 0, 0), "0123abcd")
    assert (card.default, card.config, card.prose) == (False, {}, "A card.\n")


TEXT_MODEL = """---
name: tiny.text
arch: tiny
files: [{url: "https://host/w", format: safetensors, verified: prefix, sha256_prefix: "0123abcd"}]
text: {context: 8, vocabulary: 50, tokenizer: letters}
metrics: [{dataset: letters, perplexity: 2.5}]
params: 1
license: MIT
source: https://host
---
A text model.
"""


def test_a_card_of_a_text_model_has_no_pictures_and_classes() -> None:
    card = parse_card(TEXT_MODEL, "tiny.text")
    assert (card.task, card.input, card.classes) == ("text-generation", None, None)
    assert (card.text.context, card.metrics[0].value) == (8, "perplexity 2.5")
    assert parse_card(TEXT, "tiny.test").task == "image-classification"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("text: {", "classes: {number: 2, labels: t}\ntext: {", "'text' and perplexities, or"),
        ("perplexity: 2.5", "top1: 2.5, size: 3", "'text' and perplexities, or"),
        ("perplexity: 2.5", "perplexity: 2.5, size: 3", "either top1 and size, or perplexity"),
        ("perplexity: 2.5", "perplexity: 0.5", "in perplexity: a number from 1"),
        ("context: 8", "context: 0", "in context: a whole number"),
        ("text: {context: 8, vocabulary: 50, tokenizer: letters}", "", "'input', or 'text'"),
    ],
)
def test_a_text_card_that_breaks_the_schema_is_refused(old: str, new: str, said: str) -> None:
    assert old in TEXT_MODEL
    with pytest.raises(hub.CardError, match=said):
        parse_card(TEXT_MODEL.replace(old, new), "tiny.text")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (changed("params: 1", "params: 1\nparam: 1"), "no key 'param'.*params"),
        (changed("top1: 50", "top1: 50, top_5: 60"), "in metrics: no key 'top_5'"),
        (changed("license: MIT\n", ""), "the key 'license'"),
        (changed("format: pth, ", ""), "in files: the key 'format'"),
        (changed("top1: 50", "top1: 101"), "in top1: a number from 0 to 100"),
        (changed("params: 1", "params: 1.5"), "in params: a whole number"),
        (changed("params: 1", "params: true"), "in params: a whole number"),
        (changed("mean: [0, 0, 0]", "mean: [0, 0]"), "in mean: a list of 3"),
        (changed("bilinear", "nearest"), "bilinear, bicubic"),
        (changed("https://", "http://"), "an https:// address"),
        (changed('"0123abcd"', "12345678"), "in quotes"),
        (changed('"0123abcd"', '"0123ABCD"'), "lower-case hex"),
        (changed("sha256_prefix", "sha256"), "64 lower-case hex"),
        (changed("verified: prefix", "verified: full"), "verified: prefix beside sha256_prefix"),
        (changed("format: pth", "format: pth, packaged: zoo/w"), "either url or packaged"),
        (changed('url: "https://host/w.pth"', "packaged: ../w"), "a relative path"),
        (changed('url: "https://host/w.pth"', "packaged: zoo/w"), "the full sha256"),
        (changed("format: pth", "format: onnx"), "safetensors, pth"),
        (changed("format: pth", "format: pth, key_map: none"), "one of torchvision"),
        (changed("labels: test", "labels: test, names: [a]"), "2 names"),
        (changed("name: tiny.test", "name: tiny.other"), "name 'tiny.test'"),
        (changed("arch: tiny", "arch: small"), "starting with 'ARCH.'"),
        (changed("params: 1", "params: [1"), "no valid YAML"),
        (changed("params: 1", "params: !!python/object/apply:os.system [ls]"), "no valid YAML"),
        ("name: tiny.test\n", "front matter"),
        ("---\n[1, 2]\n---\n", "a table"),
    ],
)
def test_a_card_that_breaks_the_schema_is_refused(text: str, said: str) -> None:
    with pytest.raises(hub.CardError, match=f"(?s)tiny.test.*{said}"):
        parse_card(text, "tiny.test")


def test_two_defaults_of_one_architecture_are_refused(tmp_path: Path) -> None:
    for name in ("tiny.a", "tiny.b"):
        text = changed("name: tiny.test", f"name: {name}\ndefault: true")
        (tmp_path / f"{name}.md").write_text(text)
    with pytest.raises(hub.CardError, match="tiny.a and tiny.b"):
        hub.load_cards(tmp_path)


def test_an_unknown_card_suggests_near_names() -> None:
    with pytest.raises(hub.UnknownCard, match=r"did you mean .*resnet50\.tv_in1k_v1"):
        hub.get_card("resnet50.tv_in1k")


def test_a_name_like_no_other_points_to_the_list() -> None:
    with pytest.raises(hub.UnknownCard, match="zoo list"):
        hub.get_card("?")


def test_cards_of_an_architecture_start_with_its_default() -> None:
    names = [card.name for card in hub.cards_for("resnet50")]
    assert names[0] == "resnet50.tv_in1k_v1"
    assert set(names) == {"resnet50.tv_in1k_v1", "resnet50.tv_in1k_v2", "resnet50.a1_in1k"}


def test_an_architecture_without_cards_has_none() -> None:
    assert hub.cards_for("resnet56") == ()


def test_every_card_file_is_read() -> None:
    found = {path.stem for path in cards_folder().glob("*.md")} - {"README"}
    assert SHIPPED.keys() == found


def test_the_page_of_the_schema_names_every_key_and_no_other() -> None:
    page = (cards_folder() / "README.md").read_text("utf-8")
    kinds = (Card, CardFile, CardInput, CardClasses, CardMetric, CardText)
    keys = {f.name for kind in kinds for f in fields(kind) if "parse" in f.metadata}
    listed = {
        name
        for line in page.splitlines()
        if line.startswith("| `")
        for name in re.findall(r"`(\w+)`", line.split("|")[1])
    }
    assert listed == keys - {"input", "classes", "text"}
    assert all(f"`{key}`" in page for key in keys)


def test_every_architecture_with_cards_has_one_default() -> None:
    archs = {card.arch for card in SHIPPED.values()}
    assert {card.arch for card in SHIPPED.values() if card.default} == archs


@pytest.mark.parametrize("name", SHIPPED)
def test_the_prose_tells_what_a_person_must_know(name: str) -> None:
    text = SHIPPED[name].prose.lower()
    for topic in ("training data", "accuracy", "intended use", "limits", "licence", "parameters"):
        assert topic in text, topic
    assert len(text.split()) > 120


@pytest.mark.parametrize("name", SHIPPED)
def test_the_prose_states_the_numbers_of_the_front_matter(name: str) -> None:
    card = SHIPPED[name]
    assert f"{card.params:,}" in card.prose
    for metric in card.metrics:
        value = metric.perplexity if metric.top1 is None else metric.top1
        assert f"{value:.3f}" in card.prose or f"{value:g}" in card.prose


@pytest.mark.parametrize("name", SHIPPED)
def test_the_prose_says_what_of_a_digest_is_unverified(name: str) -> None:
    card = SHIPPED[name]
    doubtful = any(file.verified == "prefix" for file in card.files)
    assert doubtful == ("unverified" in card.prose)


PUBLISHED = """
resnet18 a1 v1 | resnet34 v1 | resnet50 a1 v1 v2 | resnet101 v1 v2 | resnet152 v1 v2
wide_resnet50_2 v1 v2 | wide_resnet101_2 v1 v2 | resnext50_32x4d v1 v2
resnext101_32x8d v1 v2 | resnext101_64x4d v1
vgg11 v1 | vgg13 v1 | vgg16 v1 | vgg19 v1 | vgg11_bn v1 | vgg13_bn v1 | vgg16_bn v1 | vgg19_bn v1
"""


def test_every_published_set_of_weights_has_a_card() -> None:
    tags = {"a1": "a1_in1k", "v1": "tv_in1k_v1", "v2": "tv_in1k_v2"}
    rows = [row.split() for row in PUBLISHED.replace("\n", "|").split("|") if row.split()]
    wanted = {f"{arch}.{tags[tag]}" for arch, *given in rows for tag in given}
    assert wanted <= SHIPPED.keys()


@pytest.mark.parametrize("name", SHIPPED)
def test_torchvision_digests_start_with_the_digits_in_the_file_name(name: str) -> None:
    for file in SHIPPED[name].files:
        if file.url and file.url.startswith(TORCHVISION):
            assert file.digest.startswith(file.url[-12:-4])


@pytest.mark.parametrize("name", [n for n, card in SHIPPED.items() if card.files[0].url])
def test_sizes_agree_with_the_number_of_parameters(name: str) -> None:
    # float32, or float16 in torchvision's V1 files of wide networks; names and buffers on top.
    card = SHIPPED[name]
    for file in card.files:
        size = file.bytes or file.bytes_approx or 0
        if card.text:  # constant masks on top, context x context floats for each block
            size -= 4 * card.text.context**2 * int(re.findall(r"(\d+) blocks", card.prose)[0])
        halved = card.arch.startswith("wide") and name.endswith("v1") and file.format == "pth"
        assert 0.99 <= size / (card.params * (2 if halved else 4)) < 1.01


def test_no_file_is_claimed_by_two_cards() -> None:
    digests = [file.digest for card in SHIPPED.values() for file in card.files]
    assert len(set(digests)) == len(digests)


def test_importing_hub_loads_nothing_heavy() -> None:
    program = "import sys, hub; print(*sys.modules)"
    modules = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True,
        cwd=Path(__file__).parents[2],
    ).stdout.split()  # fmt: skip
    assert "hub" in modules
    heavy = {"numpy", "requests", "yaml", "tqdm", "filelock", "platformdirs", "safetensors"}
    assert heavy.isdisjoint(modules)


def test_every_public_name_exists_and_is_documented() -> None:
    for name in hub.__all__:
        value = getattr(hub, name)
        assert name == "BFLOAT16" or value.__doc__, name


def test_an_unknown_name_of_the_package_is_named() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'.*read_state_dict"):
        _ = hub.nothing


def test_no_module_hides_a_public_name_of_the_package() -> None:
    # Importing hub.x sets the attribute x of hub: a public function x would be gone.
    modules = {path.stem for path in Path(hub.__file__).parent.glob("*.py")}
    assert not modules & set(hub.__all__)
