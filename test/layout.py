"""How a package is built: its files, what they import, and how deep that goes."""

import ast
from functools import cache
from typing import NamedTuple


class Import(NamedTuple):
    """`name` from `module`, both dotted; a module that is imported as a whole has no name."""

    module: str
    name: str

    @property
    def whole(self):
        return f"{self.module}.{self.name}".strip(".")


def modules(folder, package):
    """Return dotted name -> file of all modules of a package in a folder."""
    found = {}
    for file in sorted(folder.rglob("*.py")):
        parts = file.relative_to(folder).with_suffix("").parts
        found[".".join((package, *parts)).removesuffix(".__init__")] = file
    return found


def imports(file):
    """Return the imports of a file, wherever in it, but those for type checkers only."""
    return _read(file.read_text(encoding="utf-8"))[1]


def idea(file):
    """Return what the docstring of a file says, or None."""
    return _read(file.read_text(encoding="utf-8"))[0]


@cache
def _read(text):
    """Return docstring and imports: many tests ask for them, each text is parsed once."""

    def inside(nodes):
        """Imports are statements, and stand in statements only."""
        for node in nodes:
            if isinstance(node, ast.Import):
                yield from (Import(alias.name, "") for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield from (Import(node.module or "", alias.name) for alias in node.names)
            elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
                yield from inside(node.orelse)
            else:
                for block in ("body", "handlers", "cases", "orelse", "finalbody"):
                    yield from inside(getattr(node, block, ()))

    tree = ast.parse(text)
    return ast.get_docstring(tree), tuple(inside(tree.body))


def below(file, known):
    """Return which of the known modules a file imports."""
    found = set()
    for each in imports(file):
        found |= {each.whole} & known or {each.module} & known
    return found


def room_of(name, file):
    """Return the folder that a module stands in, dotted; a package stands in itself."""
    return name if file.name == "__init__.py" else name.rpartition(".")[0]


def floors(known):
    """Return folder -> the longest chain of modules in it that import one another in a row."""
    rooms = {name: room_of(name, file) for name, file in known.items()}
    files = {name for name, file in known.items() if file.name != "__init__.py"}

    @cache
    def chain(name):
        beside = {each for each in below(known[name], files) if rooms[each] == rooms[name]}
        return (name, *max((chain(each) for each in beside - {name}), key=len, default=()))

    longest = {}
    for name in files:
        longest[rooms[name]] = max(longest.get(rooms[name], ()), chain(name), key=len)
    return longest


def circles(known):
    """Return chains of folders that import one another in a circle."""
    rooms = {name: room_of(name, file) for name, file in known.items()}
    above = {room: set() for room in rooms.values()}
    for name, file in known.items():
        if file.name != "__init__.py":  # a package collects what stands in and below it
            above[rooms[name]] |= {rooms[each] for each in below(file, known.keys())}
    found, done = [], set()

    def visit(room, way):
        if room in way:
            found.append((*way[way.index(room) :], room))
        elif room not in done:
            for each in sorted(above[room] - {room}):
                visit(each, (*way, room))
            done.add(room)

    for room in above:
        visit(room, ())
    return found


def private(known):
    """Return imports of names that begin with an underscore, by module."""
    return [
        (name, each.whole)
        for name, file in known.items()
        for each in imports(file)
        if each.name.startswith("_") and each.name != "__version__"
        if each.module.split(".")[0] == name.split(".")[0]
    ]
