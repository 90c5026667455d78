"""Build the wheel and the source distribution, and check both: `make dist`.

The wheel is installed in a new environment without extras, where the library must work and name the extra of whatever
is missing; then each extra is added alone, to its own folder, and what was missing must work.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
WORKS = """
import maxmargin as mm
X, y = mm.datasets.make_multiclass(60, random_state=0)
model = mm.MulticlassSVM().fit(X, y)
model.save("model.mm")
assert (mm.load("model.mm").predict(X) == model.predict(X)).all()
assert model.certificate_.proven
"""
#: For each extra, code that needs it.
NEEDS = {
    "cli": "from maxmargin.cli import main; import sys; sys.argv = ['maxmargin', '--version']; main()",
    "plot": "import maxmargin as mm; X, y = mm.datasets.make_multiclass(60, random_state=0); "
    "mm.plots.ConvergenceDisplay.from_estimator(mm.MulticlassSVM().fit(X, y))",
    "data": "import maxmargin as mm; X, y = mm.datasets.make_multiclass(60, random_state=0); "
    "mm.MulticlassSVM().fit(X, y).weights_frame()",
    "nlp": "import maxmargin as mm; open('x.conllu', 'w').write('1\\ta\\t_\\tX\\t_\\t_\\t0\\troot\\t_\\t_\\n\\n'); "
    "mm.DependencyParser().fit('x.conllu')",
    "bio": "import maxmargin as mm; mm.PairwiseAligner(prior='BLOSUM62', C=1.0)"
    ".fit([('AC', 'AC')] * 3, [('AC', 'AC')] * 3)",
    "convex": "import maxmargin as mm; X, y = mm.datasets.make_multiclass(20, random_state=0); "
    "mm.MulticlassSVM(solver=mm.solvers.MinMax(method='general')).fit(X, y)",
    "dask": "import distributed; import maxmargin as mm; client = distributed.Client(processes=False, "
    "dashboard_address=':0'); mm.engines.Dask(client); client.close()",
}


def main() -> None:
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "pip", "install", "--quiet", "build>=1.2", "twine>=5.1")
    run(sys.executable, "-m", "build", "--outdir", str(DIST), cwd=ROOT)
    run(sys.executable, "-m", "twine", "check", "--strict", *map(str, DIST.iterdir()))
    (wheel,), (source,) = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    check_contents(wheel, source)
    with tempfile.TemporaryDirectory() as folder:
        check_installed(wheel, Path(folder))
    print("wheel and source distribution: no fault found")


def run(*command: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, check=True, text=True, **options)  # type: ignore[call-overload, no-any-return]


def check_contents(wheel: Path, source: Path) -> None:
    """Require all modules and data of the package in the wheel, and tests and documentation in the source only."""
    names = set(zipfile.ZipFile(wheel).namelist())
    package = ROOT / "src" / "maxmargin"
    wanted = {
        f"maxmargin/{path.relative_to(package).as_posix()}"
        for path in package.rglob("*")
        if path.suffix in (".py", ".pyi", ".csv", ".json", ".typed")
    }
    assert wanted <= names, f"not in the wheel: {sorted(wanted - names)}"
    others = {name for name in names - wanted if ".dist-info/" not in name}
    assert not others, f"in the wheel, but not of the package: {sorted(others)}"
    with tarfile.open(source) as archive:
        files = {name.partition("/")[2] for name in archive.getnames()}
    assert {"README.md", "LICENSE", "pyproject.toml", "src/maxmargin/__init__.py", "tests/conftest.py"} <= files
    assert not any(name.startswith((".venv", "build/", "dist/")) for name in files)


def check_installed(wheel: Path, folder: Path) -> None:
    """Require that the wheel works without extras and names a missing one, with which the same code works."""
    venv.create(folder / "env", with_pip=True)
    python = str(next((folder / "env").glob("[bS]*/python*")))
    run(python, "-m", "pip", "install", "--quiet", str(wheel))
    run(python, "-W", "error", "-c", WORKS, cwd=folder)
    for extra, code in NEEDS.items():
        alone = subprocess.run([python, "-c", code], cwd=folder, capture_output=True, text=True, check=False)
        if extra != "dask":  # the code itself imports the package
            assert alone.returncode != 0, f"{extra}: works without the extra"
            assert f"maxmargin[{extra}]" in alone.stderr + alone.stdout, f"{extra}: {alone.stderr[-2000:]}"
            assert "Traceback" not in alone.stderr or "ImportError" in alone.stderr, alone.stderr[-2000:]
        added = folder / extra
        run(python, "-m", "pip", "install", "--quiet", "--target", str(added), f"{wheel}[{extra}]")
        shutil.rmtree(added / "maxmargin", ignore_errors=True)
        environment = {**os.environ, "PYTHONPATH": str(added), "MPLBACKEND": "Agg"}
        run(python, "-c", code, cwd=folder, env=environment)
        print(f"extra {extra}: named if it is missing, works if it is there", flush=True)


if __name__ == "__main__":
    main()
