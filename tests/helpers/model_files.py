"""Model files taken apart, changed, and put together again."""

import io
import json
import zipfile

import numpy as np
import pytest

import maxmargin as mm


def members(content):
    with zipfile.ZipFile(io.BytesIO(content)) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def packed(contents):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in contents.items():
            opened.writestr(name, content)
    return buffer.getvalue()


def change(path, edit):
    """Edit the document or the other members of a file."""
    contents = members(path.read_bytes())
    document = json.loads(contents["model.json"])
    edit(document, contents)
    if "model.json" in contents:
        contents["model.json"] = json.dumps(document)
    path.write_bytes(packed(contents))


def refused(path, message, **options):
    with pytest.raises(ValueError, match=message) as info:
        mm.load(path, **options)
    text = str(info.value)
    assert text.startswith(f"{path} "), text
    assert "\n" not in text
    return text


def places(node, parents=()):
    """All places in a document."""
    for key in node if isinstance(node, dict) else range(len(node)):
        yield (*parents, key)
        if isinstance(node[key], dict | list):
            yield from places(node[key], (*parents, key))


def npy(array, **options):
    buffer = io.BytesIO()
    np.save(buffer, array, **options)
    return buffer.getvalue()
