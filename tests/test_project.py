"""The project keeps its own promises: imports go one way, examples run, pages say what is true."""

from __future__ import annotations

import ast
import doctest
import inspect
import re
import runpy
import tomllib
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import absentia

PROJECT = Path(__file__).resolve().parent.parent
SOURCE = PROJECT / "src" / "absentia"
GUIDE = PROJECT / "docs" / "guide"

# A stage may import from those before it; docs/architecture.md says what each is.
STAGES = [
    "engine",
    "hidden_warnings",
    "optional_imports",
    "parameters",
    "progress",
    "pictures",
    "tables",
    "missingness",
    "amputation",
    "beliefs",
    "densities",
    "kernels",
    "features",
    "machines",
    "predictions",
    "decisions",
    "automatic",
    "reports",
    "recipe",
    "persistence",
    "studio",
    "cli",
]


def stage_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def modules():
    return [
        path
        for path in sorted(SOURCE.rglob("*.py"))
        if path not in (SOURCE / "__init__.py", SOURCE / "__main__.py")
        and "__pycache__" not in path.parts
    ]


def module_of(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_modules(path: Path, *, exported: bool = True):
    """Yield the modules of absentia that a file imports and the lines, save for type checkers.

    ``import absentia`` counts as all that it exports, which it imports when it is asked for it.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for_type_checkers = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in for_type_checkers:
            continue
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            names = [str(given.value) for given in node.args if isinstance(given, ast.Constant)]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            module = node.module or ""
            # A submodule may be what is imported from a package; a name of it is not a module.
            names = [
                inner if inner in MODULES else module
                for inner in (f"{module}.{alias.name}" for alias in node.names)
            ]
        elif isinstance(node, ast.ImportFrom):
            pytest.fail(f"{path}:{node.lineno} imports relatively; write absentia.<stage>")
        else:
            continue
        if isinstance(node, ast.ImportFrom) and node.module == "absentia":
            names = [
                name if name in MODULES else defined_in(alias.name)
                for name, alias in zip(names, node.names, strict=True)
            ]
        if "absentia" in names and exported:
            names += map(defined_in, absentia.__all__)
        for name in names:
            if name.startswith("absentia."):
                yield name, node.lineno


def defined_in(public: str) -> str:
    """Return the module of a name that absentia exports; an empty one for what has none."""
    found = getattr(absentia, public)
    return str(getattr(found, "__module__", getattr(found, "__name__", "")))


MODULES = {module_of(path): path for path in modules()}


def imported_stages(path: Path):
    for name, line in imported_modules(path):
        yield name.split(".")[1], line


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_one_way(path):
    stage = stage_of(path)
    assert stage in STAGES, f"{stage} is new: give it a place here and in docs/architecture.md"
    for imported, line in imported_stages(path):
        assert imported in STAGES, f"{path}:{line} imports {imported}, which is no stage"
        allowed = STAGES[: STAGES.index(stage) + 1]
        assert imported in allowed, f"{path}:{line}: {stage} must not import {imported}"


def test_imports_inside_a_package_go_one_way_too():
    graph = {
        name: {imported for imported, _ in imported_modules(path, exported=False)}
        for name, path in MODULES.items()
        if path.name != "__init__.py"
    }
    for name, imported in graph.items():
        own_packages = {name.rsplit(".", depth)[0] for depth in range(1, name.count("."))}
        assert not imported & own_packages, f"{name} imports its own package: name the module"
    # Raises CycleError, which names the modules of the cycle.
    TopologicalSorter(graph).prepare()


@pytest.mark.parametrize(
    "line",
    [
        "from absentia import SVC",
        "import absentia",
        "from importlib import import_module\n\nimport_module('absentia.machines.base')",
        "def f():\n    from absentia.machines.base import KernelMachine",
    ],
)
def test_no_spelling_of_an_import_escapes(line, tmp_path):
    (tmp_path / "rows.py").write_text(line)
    assert "machines" in {stage for stage, _ in imported_stages(tmp_path / "rows.py")}


@pytest.mark.parametrize("name", absentia.__all__)
def test_defaults_in_docstrings_are_those_of_the_signature(name):
    public = getattr(absentia, name)
    if not (inspect.isfunction(public) or (isinstance(public, type) and hasattr(public, "fit"))):
        return
    written = re.findall(r"^(\w+) : .*default=(.+)$", inspect.getdoc(public) or "", re.MULTILINE)
    parameters = inspect.signature(public).parameters
    for parameter, default in written:
        # Attributes have none; long ones are abbreviated, and powers are not worked out.
        if parameter in parameters and "..." not in default and "**" not in default:
            found = parameters[parameter].default
            assert default in (repr(found), f'"{found}"') or ast.literal_eval(default) == found


def test_oracles_import_nothing_from_absentia():
    for path in (PROJECT / "tests" / "oracles").rglob("*.py"):
        assert not re.search(r"^\s*(from|import) absentia", path.read_text("utf-8"), re.MULTILINE)


def test_every_stage_is_on_the_architecture_page():
    page = (PROJECT / "docs" / "architecture.md").read_text(encoding="utf-8")
    tree = page[page.index("    src/absentia/") : page.index("    lab/")]
    heads = [line[6:].split("  ")[0] for line in tree.splitlines() if line[6:7].strip()]
    names = [name for head in heads[1:] for name in re.findall(r"\w+", head)]
    assert names == [stage for stage in STAGES if stage != "amputation"]  # a public alias


def all_files() -> set[str]:
    folders = ("src", "tests", "lab", "docs")
    paths = [path for folder in folders for path in (PROJECT / folder).rglob("*.py")]
    return {path.relative_to(PROJECT).as_posix() for path in paths}


PROSE = sorted(
    page
    for page in [*PROJECT.glob("*.md"), *(PROJECT / "docs").rglob("*.md")]
    if not {"_build", "gallery", "lessons", "api"} & set(page.relative_to(PROJECT).parts)
)


@pytest.mark.parametrize("page", PROSE, ids=lambda page: str(page.relative_to(PROJECT)))
def test_files_that_a_page_names_exist(page):
    ends = {
        "/".join(parts[i:])
        for parts in (path.split("/") for path in all_files())
        for i in range(len(parts))
    }
    for name in re.findall(r"(?<![\w*<])[\w/.-]*\w\.py\b", page.read_text("utf-8")):
        assert name in ends, f"{page.name} names {name}, which does not exist"


def test_folders_that_the_architecture_page_names_exist():
    page = (PROJECT / "docs" / "architecture.md").read_text(encoding="utf-8")
    folders = {"/" + path.rsplit("/", 1)[0] + "/" for path in all_files()}
    for name in re.findall(r"`((?:[\w.-]+/)+)`", page):
        assert any("/" + name in folder for folder in folders) or (PROJECT / name).is_dir(), name


def test_tests_stand_in_the_folder_of_what_they_test():
    # The other folders are kinds of tests: docs/architecture.md.
    kinds = {"oracles", "drop_in", "fuzz", "lab"}
    homes: dict[str, set[str]] = {}
    for path in modules():
        homes.setdefault(path.stem, set()).add(path.parent.relative_to(SOURCE).as_posix())
    for path in (PROJECT / "tests").rglob("*.py"):
        folder = path.parent.relative_to(PROJECT / "tests")
        if folder.parts and folder.parts[0] in kinds:
            continue
        assert (SOURCE / folder).is_dir(), f"{path}: absentia has no folder {folder}"
        home = homes.get(path.stem.removeprefix("test_"), {folder.as_posix()})
        assert folder.as_posix() in home, f"{path} should be in {home}, or have another name"


def test_no_file_hides_behind_a_name_that_says_nothing():
    names = {path.stem for path in modules()}
    assert not names & {"utils", "helpers", "misc", "common"}


def test_public_names_are_sorted_and_exist():
    assert list(absentia.__all__) == sorted(absentia.__all__)
    for name in absentia.__all__:
        assert hasattr(absentia, name)


def test_the_core_has_five_dependencies():
    with (PROJECT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    core = {re.split(r"[<>=]", requirement)[0] for requirement in project["dependencies"]}
    assert core == {"numpy", "scipy", "scikit-learn", "numba", "joblib"}


def test_every_dependency_has_its_reason_on_the_architecture_page():
    with (PROJECT / "pyproject.toml").open("rb") as file:
        extras = tomllib.load(file)["project"]["optional-dependencies"]
    page = (PROJECT / "docs" / "architecture.md").read_text(encoding="utf-8").lower()
    reasons = page[page.index("## dependencies") : page.index("## decisions")]
    for requirement in {name for names in extras.values() for name in names}:
        name = re.split(r"[<>=\[]", requirement)[0].removesuffix("-cpu")
        assert name == "absentia" or name in reasons, f"why {name}? say so in the architecture page"


def code_blocks(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def test_the_example_of_the_readme_runs_and_has_ten_lines(tmp_path, capsys):
    (example,) = code_blocks(PROJECT / "README.md")
    assert len([line for line in example.splitlines() if line.strip()]) <= 10
    (tmp_path / "example.py").write_text(example, encoding="utf-8")
    runpy.run_path(str(tmp_path / "example.py"))
    printed = capsys.readouterr().out
    assert printed.startswith("Uncertainty of 89 rows")
    as_it_comes, averaged = map(float, printed.splitlines()[-1].split())
    assert round(as_it_comes, 2) == 0.81  # the figures that the README gives
    assert round(averaged, 2) == 0.87


PAGES = sorted(
    page
    for page in (PROJECT / "docs").rglob("*.md")
    if "_build" not in page.parts and ">>> " in page.read_text("utf-8")
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(PROJECT)))
def test_the_examples_of_the_documentation_run(page):
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    text = "\n".join(block for block in code_blocks(page) if ">>> " in block)
    test = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    report: list[str] = []
    outcome = doctest.DocTestRunner(optionflags=flags).run(test, out=report.append)
    assert outcome.failed == 0, "".join(report)


def test_pages_of_the_guide_have_at_most_200_lines():
    lines = {page.name: len(page.read_text("utf-8").splitlines()) for page in GUIDE.glob("*.md")}
    assert {name: n for name, n in lines.items() if n > 200} == {}


@pytest.mark.parametrize("name", absentia.__all__)
def test_every_public_name_has_an_example(name):
    found = getattr(absentia, name)
    if callable(found):
        assert ">>> " in inspect.getdoc(found)


def test_the_version_is_the_same_everywhere():
    version = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["version"]
    citation = (PROJECT / "CITATION.cff").read_text()
    assert f"\nversion: {version}\n" in citation
    released = re.search(r"^date-released: (\S+)$", citation, re.MULTILINE)[1]
    assert f"\n## {version} ({released})\n" in (PROJECT / "CHANGELOG.md").read_text()


def test_the_versions_for_a_report_are_printed(capsys):
    absentia.show_versions()
    found = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert found["absentia"]
    assert found["numpy"]
