"""Static structure of a package: its files, their imports, import cycles and import closures."""

import ast
from functools import cache
from typing import NamedTuple


class Import(NamedTuple):
    """`name` imported from `module`, both dotted; `name` is empty for ``import module``."""

    module: str
    name: str

    @property
    def qualified(self):
        return f"{self.module}.{self.name}".strip(".")


def modules(folder, package):
    """Return {dotted name: file} of all modules of a package in a folder."""
    names = {}
    for file in sorted(folder.rglob("*.py")):
        parts = file.relative_to(folder).with_suffix("").parts
        names[".".join((package, *parts)).removesuffix(".__init__")] = file
    return names


def imports(file):
    """Return the imports of a file at any depth, except those under TYPE_CHECKING."""
    return _parse(file.read_text(encoding="utf-8"))[1]


def docstring(file):
    """Return the docstring of a file, or None."""
    return _parse(file.read_text(encoding="utf-8"))[0]


@cache
def _parse(source):
    """Return the docstring and the imports of a source text, parsed once for all tests."""

    def statements(nodes):
        for node in nodes:
            if isinstance(node, ast.Import):
                yield from (Import(alias.name, "") for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield from (Import(node.module or "", alias.name) for alias in node.names)
            elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
                yield from statements(node.orelse)
            else:
                for block in ("body", "handlers", "cases", "orelse", "finalbody"):
                    yield from statements(getattr(node, block, ()))

    tree = ast.parse(source)
    return ast.get_docstring(tree), tuple(statements(tree.body))


def strings(file):
    """Return the string constants of a file."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    constants = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return [value for value in constants if isinstance(value, str)]


def dependencies(file, names):
    """Return which of the modules `names` a file imports."""
    result = set()
    for item in imports(file):
        result |= {item.qualified} & names or {item.module} & names
    return result


def defined(file):
    """Return the names that the top level of a module binds, or its stub if it has one."""
    stub, names = file.with_suffix(".pyi"), set()
    file = stub if stub.is_file() else file
    for statement in ast.parse(file.read_text(encoding="utf-8")).body:
        names |= {alias.asname or alias.name for alias in getattr(statement, "names", ())}
        names |= {getattr(statement, "name", "")}
        targets = getattr(statement, "targets", [getattr(statement, "target", None)])
        names |= {node.id for t in targets if t for node in ast.walk(t) if hasattr(node, "id")}
    return names


def package_of(name, file):
    """Return the dotted name of the package that contains a module; a package contains itself."""
    return name if file.name == "__init__.py" else name.rpartition(".")[0]


def small_packages(files, least=3):
    """Return the packages that contain fewer than `least` modules and packages."""
    packages = {name for name, file in files.items() if file.name == "__init__.py"}
    return sorted(
        package
        for package in packages
        if sum(name.rpartition(".")[0] == package for name in files) < least
    )


def longest_chains(files):
    """Return {package: longest chain of its modules that import one another in a row}."""
    packages = {name: package_of(name, file) for name, file in files.items()}
    names = {name for name, file in files.items() if file.name != "__init__.py"}

    @cache
    def chain(name):
        siblings = {
            item for item in dependencies(files[name], names) if packages[item] == packages[name]
        }
        return (name, *max((chain(item) for item in siblings - {name}), key=len, default=()))

    longest = {}
    for name in names:
        longest[packages[name]] = max(longest.get(packages[name], ()), chain(name), key=len)
    return longest


def cycles(files):
    """Return import cycles between packages, each as a tuple of dotted names."""
    packages = {name: package_of(name, file) for name, file in files.items()}
    graph = {package: set() for package in packages.values()}
    for name, file in files.items():
        if file.name != "__init__.py":  # a package re-exports names of the packages below it
            graph[packages[name]] |= {packages[item] for item in dependencies(file, files.keys())}
    result, visited = [], set()

    def visit(package, path):
        if package in path:
            result.append((*path[path.index(package) :], package))
        elif package not in visited:
            for item in sorted(graph[package] - {package}):
                visit(item, (*path, package))
            visited.add(package)

    for package in graph:
        visit(package, ())
    return result


def private_imports(files):
    """Return (module, name) for each import of an underscore name within the package."""
    return [
        (name, item.qualified)
        for name, file in files.items()
        for item in imports(file)
        if item.name.startswith("_") and item.name != "__version__"
        if item.module.split(".")[0] == name.split(".")[0]
    ]
