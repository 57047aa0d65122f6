# SPDX-License-Identifier: Apache-2.0
"""The files that the rules are about: all of the source tree, but no build, no cache and nothing
that a build fetched."""
import os


def walk(root, endings=None):
    """Paths below `root`, relative, sorted."""
    found = []
    for folder, folders, names in os.walk(root):
        if "meson-private" in folders:  # a build directory
            folders.clear()
            continue
        folders[:] = [f for f in folders
                      if f not in ("__pycache__", "node_modules")
                      and (folder != os.path.join(root, "subprojects") or f == "packagefiles")
                      and (not f.startswith(".") or f == ".ci")
                      and not (folder == root and f.startswith("build"))]
        for name in names:
            if endings is None or name.endswith(endings):
                path = os.path.join(folder, name)
                if os.path.isfile(path) and not os.path.islink(path):
                    found.append(os.path.relpath(path, root))
    return sorted(found)


def read(root, path):
    """The text of a file, or None for one that is not text."""
    with open(os.path.join(root, path), "rb") as f:
        data = f.read()
    if b"\0" in data:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None
