"""The page can be installed as an app: what its manifest says is there."""

import json
import mimetypes
import re
from pathlib import Path
from urllib.parse import urljoin

import pytest
from PIL import Image

from studio.page.page_files import STATIC
from studio.page.parts.element import head

MANIFEST = STATIC / "app.webmanifest"


@pytest.fixture
def manifest() -> dict:
    return json.loads(MANIFEST.read_text(encoding="utf-8"))


def test_icons_of_the_manifest_have_the_sizes_and_types_it_states(manifest):
    for icon in manifest["icons"]:
        file = STATIC / icon["src"]
        assert mimetypes.guess_type(file)[0] == icon["type"]
        if icon["sizes"] != "any":
            with Image.open(file) as image:
                assert "x".join(map(str, image.size)) == icon["sizes"]
    assert {"192x192", "512x512"} <= {icon["sizes"] for icon in manifest["icons"]}  # what browsers install with


@pytest.mark.parametrize("prefix", ["", "/studio"])
def test_head_links_the_manifest_whose_app_starts_at_the_page(prefix, manifest):
    [link] = re.findall(r'<link rel="manifest" href="([^"]+)">', head(prefix))
    assert Path(link).name == MANIFEST.name
    assert [urljoin(link, manifest[name]) for name in ("start_url", "scope", "id")] == [f"{prefix}/"] * 3
    [touch] = re.findall(r'<link rel="apple-touch-icon" href="([^"]+)">', head(prefix))
    assert (STATIC / Path(touch).name).is_file()
