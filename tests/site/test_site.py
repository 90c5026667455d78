"""The site: its sources, and, once `make docs` has built it, its pages, also in a browser."""

import html
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parents[2]
SITE = ROOT / "docs" / "site"
BUILT = ROOT / "build" / "site" / "html"
#: Pages that are looked at in a browser.
PAGES = ("index.html", "taggers.html", "reference/generated/maxmargin.RNAFolder.html", "results/index.html",
         "gallery/demo.html", "gallery/index.html")  # fmt: skip

built = pytest.mark.skipif(not (BUILT / "index.html").exists(), reason="`make docs` has not built the site")


@pytest.fixture(scope="module")
def staged(tmp_path_factory):
    pytest.importorskip("matplotlib")
    sys.path.insert(0, str(SITE))
    try:
        import stage
    finally:
        sys.path.remove(str(SITE))
    target = tmp_path_factory.mktemp("site")
    stage.stage(target)
    return target


def test_links_between_sources_have_targets(staged):
    pages = list(staged.rglob("*.md"))
    assert len(pages) > 80
    for page in pages:
        text = re.sub(r"^(`{3,}).*?^\1$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        for path in re.findall(r"\]\((?!https?:|mailto:|#)([^)#\s]+)", text):
            if path.startswith("gallery/") or "/gallery/" in path:
                assert (staged / "examples" / f"{Path(path).stem}.py").exists(), f"{page.name} links to {path}"
            else:
                assert (page.parent / path).exists(), f"{page.name} links to {path}"


def test_every_page_is_in_a_table_of_contents(staged):
    guide = (staged / "guide.md").read_text(encoding="utf-8") + (staged / "project.md").read_text(encoding="utf-8")
    pages = {path.name for path in staged.glob("*.md")} - {"index.md", "guide.md", "project.md"}
    assert {page for page in pages if not re.search(rf"^{re.escape(page)}$", guide, re.MULTILINE)} == set()


def test_every_public_name_is_in_the_reference(staged):
    import maxmargin

    for module in (maxmargin, maxmargin.metrics, maxmargin.formats, maxmargin.plots):
        name = "index" if module is maxmargin else module.__name__.split(".")[-1]
        text = (staged / "reference" / f"{name}.md").read_text(encoding="utf-8")
        assert all(re.search(rf"^ *{one}$", text, re.MULTILINE) for one in module.__all__), name


def test_examples_begin_with_a_title(staged):
    text = (staged / "examples" / "alignment.py").read_text(encoding="utf-8")
    assert text.startswith('r"""\nAlign pairs of sequences\n========================\n')
    compile(text, "alignment.py", "exec")


class Links(HTMLParser):
    """Collects what a page refers to, and its anchors."""

    def __init__(self, text):
        super().__init__()
        self.targets, self.anchors = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        if name := found.get("id") or found.get("name"):
            self.anchors.add(name)
        for key in ("href", "src"):
            if tag in ("a", "img", "script", "link") and found.get(key):
                self.targets.append(found[key])


@built
def test_links_and_pictures_of_pages_have_targets():
    pages = {
        path: Links(path.read_text(encoding="utf-8")) for path in BUILT.rglob("*.html") if "_static" not in path.parts
    }
    wrong = []
    for page, links in pages.items():
        for target in links.targets:
            url = urlsplit(target)
            if url.scheme in ("http", "https", "mailto", "data"):
                continue
            path = (page.parent / unquote(url.path)).resolve() if url.path else page
            anchor = unquote(url.fragment)
            if not path.exists() or (anchor and path in pages and anchor not in pages[path].anchors):
                wrong.append(f"{page.relative_to(BUILT)}: {target}")
    assert wrong == []


@built
def test_pages_need_no_network():
    """No page loads a script, a style or a picture from elsewhere."""
    for page in BUILT.rglob("*.html"):
        loaded = re.findall(r'<(?:script|img)[^>]* src="(https?:[^"]*)"', page.read_text(encoding="utf-8"))
        loaded += re.findall(r'<link[^>]*rel="stylesheet"[^>]*href="(https?:[^"]*)"', page.read_text(encoding="utf-8"))
        assert loaded == [], page


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """Return a function that returns what a page has become once its scripts have run."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no Chromium: install Debian's package chromium to test the pages in a browser")
    flags = (
        "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
        "--disable-background-networking", "--disable-component-update", "--allow-file-access-from-files",
    )  # fmt: skip

    def look(url, width=1200):
        folder = tmp_path_factory.mktemp("browser")
        command = [program, *flags, f"--user-data-dir={folder}", f"--window-size={width},900",
                   "--virtual-time-budget=15000", "--dump-dom", url]  # fmt: skip
        return html.unescape(subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout)

    return look


@built
def test_search_finds_pages_without_a_server(browser):
    found = browser(f"{(BUILT / 'search.html').as_uri()}?q=pseudoknots")
    assert re.search(r'<a href="[^"]*rna_folding\.html', found), found[-3000:]


@built
@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("width", [390, 1300])
def test_pages_fit_the_screen(browser, page, width, tmp_path):
    """No page scrolls sideways, and all pictures are shown."""
    frame = tmp_path / "frame.html"
    frame.write_text(
        f'<iframe id="f" style="border:0" width="{width}" height="900" src="{(BUILT / page).as_uri()}"></iframe>'
        '<p id="found"></p><script>const frame = document.getElementById("f"); frame.onload = () => {'
        "const page = frame.contentDocument;"
        "const broken = [...page.images].filter(i => i.loading !== 'lazy' && i.naturalWidth === 0).map(i => i.src);"
        'document.getElementById("found").textContent = '
        "`width ${page.documentElement.scrollWidth} broken [${broken}]`;};</script>",
        encoding="utf-8",
    )
    found = re.search(r"width (\d+) broken \[(.*?)\]", browser(frame.as_uri(), 1400))
    assert found, "the page was not loaded"
    assert int(found[1]) <= width
    assert found[2] == ""
