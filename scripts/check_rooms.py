#!/usr/bin/python3
"""Checks every #include of our own headers against src/rooms.txt.

    scripts/check_rooms.py ROOT

- a room includes only itself and what it stands on;
- a header named *_internal.h stays inside its room;
- it is written as "room/file.h", and the file exists;
- a source file includes its own header first;
- only the files that bridge the versions of a library include its headers;
- examples/ and include/ include only public headers; python/ those and its own.
"""
import pathlib
import re
import sys

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+(["<])([^">]+)[">]',
                     re.MULTILINE)

# Headers of libraries, by the beginning of their names, and who may include them.
BRIDGES = {"dnnl": ("backend/dnnl/native_internal.h",
                    "backend/dnnl/library.c")}


def read_rooms(path):
    """Room -> the rooms listed after it."""
    rooms = {}
    for line in path.read_text().splitlines():
        line = line.split("#")[0].strip()
        if line:
            room, _, below = line.partition(":")
            rooms[room.strip()] = below.split()
    return rooms


def reach(rooms, room):
    """The room and everything it stands on; None if that is a cycle."""
    found, path = set(), []

    def visit(name):
        if name in path:
            return False
        path.append(name)
        found.add(name)
        ok = all(visit(below) for below in rooms.get(name, []))
        path.pop()
        return ok

    return found if visit(room) else None


def check_table(root, rooms):
    folders = {p.name for p in (root / "src").iterdir() if p.is_dir()}
    for room in sorted(folders - rooms.keys()):
        yield f"src/{room}: not in src/rooms.txt"
    for room, below in rooms.items():
        for name in [room, *below]:
            if name not in folders:
                yield f"src/rooms.txt: {room}: there is no src/{name}"
        if reach(rooms, room) is None:
            yield f"src/rooms.txt: {room}: stands on itself"


def includes(path):
    """(line number, '"' or '<', name) of each include."""
    text = path.read_text()
    for match in INCLUDE.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, *match.groups()


def library_of(name):
    """dnnl of oneapi/dnnl/dnnl_types.h."""
    return re.split("[._]", name.rpartition("/")[2])[0]


def may_know(root, path, name):
    """False for a library's header in a file that does not bridge it."""
    own = path.relative_to(root / "src").as_posix()
    return own in BRIDGES.get(library_of(name), (own,))


def check_room_file(root, path, room, allowed):
    where = path.relative_to(root)
    stem = path.relative_to(root / "src").with_suffix("").as_posix()
    own = [name for name in (f"{stem}.h", f"{stem}_internal.h")
           if path.suffix == ".c" and (root / "src" / name).exists()]
    for n, (line, quote, name) in enumerate(includes(path)):
        if n == 0 and own and name not in own:
            yield f'{where}:{line}: the first include must be "{own[0]}"'
        if quote == "<":
            if not may_know(root, path, name):
                yield (f"{where}:{line}: <{name}> is for "
                       + " and ".join(BRIDGES[library_of(name)]))
            continue
        other = name.partition("/")[0]
        if not (root / "src" / name).is_file() or "/" not in name:
            yield f'{where}:{line}: "{name}" is not a "room/file.h" under src'
        elif other not in allowed:
            yield (f"{where}:{line}: {room} may not know {other} "
                   "(see src/rooms.txt)")
        elif name.endswith("_internal.h") and other != room:
            yield f'{where}:{line}: "{name}" is only for {other}'


def check_public_only(root, folder):
    for path in sorted((root / folder).rglob("*.[ch]")):
        for line, quote, name in includes(path):
            own = folder == "python" and (path.parent / name).is_file()
            if quote == '"' and not own:
                yield (f'{path.relative_to(root)}:{line}: "{name}": only '
                       "<assay.h> and system headers may be included here")


def check(root):
    rooms = read_rooms(root / "src" / "rooms.txt")
    yield from check_table(root, rooms)
    for room in rooms:
        allowed = reach(rooms, room) or {room}
        for path in sorted((root / "src" / room).rglob("*.[ch]")):
            yield from check_room_file(root, path, room, allowed)
    for folder in ("include", "examples", "python"):
        yield from check_public_only(root, folder)


def main(root):
    problems = list(check(pathlib.Path(root)))
    print("\n".join(problems) or "every include is allowed")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
