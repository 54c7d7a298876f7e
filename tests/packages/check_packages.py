"""Proves that scripts/packages.txt suffices on a bare machine.

A bare machine has the packages of priority `required` and apt. What installing packages.txt adds is computed from the
package database of this machine: Depends and Pre-Depends, transitively, without Recommends, as scripts/setup installs.
Everything that the build used must belong to a package in that closure: each file outside the tree that the build
description names (static libraries, CMake packages), each header that a compiled file included, each shared library that
a program loads, each tool and Python module that a script, a test or the build uses. Where the database leaves a choice
(`a | b`, virtual packages) only the first choice counts, so the closure may be too small, never too large. Skipped
(exit 77) where there is no dpkg database or no Ninja build.

Usage: check_packages.py BUILD_FOLDER
"""
import ast
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STATUS, LISTS = Path("/var/lib/dpkg/status"), Path("/var/lib/dpkg/info")
TOOL_FOLDERS = ("/usr/bin", "/usr/sbin", "/bin", "/sbin")
MODULES = "/usr/lib/python3/dist-packages"
SKIPPED = 77
NEEDS = ("hard", "optional", "test")
# Tools that a script uses only where they are there, and why that is enough.
IF_PRESENT = {"sudo": "without it scripts/setup installs nothing and says so",
              "apt-get": "scripts/setup says so on other systems", "apt-cache": "comes with apt-get",
              "ccache": "without it builds for edits take longer",
              "nvcc": "scripts/setup cuda brings it, and without it there are no kernels for GPUs",
              "cuobjdump": "scripts/setup cuda brings it, and tests/cuda_image skips its check without it",
              "git": "tests/gpu_check leaves the size of the files out without it", "clang-format": "tests/lint skips its check",
              "srun": "samples/slurm is for machines that have Slurm"}


def read_packages(text):
    """name -> (need, used by) of packages.txt."""
    rows = [line.split(None, 3) for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return {name: (need, used_by) for name, need, used_by, _ in rows}


def read_status(text):
    """Installed packages: name -> {field: value}."""
    found = {}
    for block in text.split("\n\n"):
        fields = dict(re.findall(r"^([A-Za-z-]+): (.*)$", block, re.MULTILINE))
        if fields.get("Status", "").endswith(" installed"):
            found[fields["Package"]] = fields
    return found


def closure(wanted, installed):
    """Packages that a bare machine has after installing `wanted`."""
    provided = {}
    for name, fields in installed.items():
        for virtual in re.findall(r"([a-z0-9][\w.+-]*)(?: \([^)]*\))?(?:,|$)", fields.get("Provides", "")):
            provided.setdefault(virtual, name)
    reached = set()
    open_names = [*wanted, "apt", *(name for name, fields in installed.items() if fields.get("Priority") == "required")]
    while open_names:
        name = open_names.pop()
        name = name if name in installed else provided.get(name, name)
        if name in reached or name not in installed:
            continue
        reached.add(name)
        for field in ("Depends", "Pre-Depends"):
            for choice in filter(None, installed[name].get(field, "").split(",")):
                open_names.append(re.match(r"\s*([\w.+-]+)", choice).group(1))
    return reached


def owners(paths, lists=LISTS):
    """path -> package that owns it, for the paths that have an owner. /lib and /usr/lib are one folder."""
    wanted = {}
    for path in paths:
        for spelling in (path, os.path.realpath(path)):
            wanted.setdefault(re.sub(r"^/usr(?=/(?:s?bin|lib)\w*/)", "", spelling), set()).add(path)
    found = {}
    for file in lists.glob("*.list"):
        for line in file.read_text().splitlines():
            for path in wanted.get(re.sub(r"^/usr(?=/(?:s?bin|lib)\w*/)", "", line), ()):
                found.setdefault(path, file.name[:-len(".list")].split(":")[0])
    return found


def included_headers(build):
    """Headers outside the tree that the objects of a Ninja build included."""
    text = subprocess.run(["ninja", "-C", build, "-t", "deps"], capture_output=True, text=True, check=True).stdout
    headers = set()
    for block in text.split("\n\n"):
        if "(VALID)" in block:
            headers |= {os.path.realpath(line.strip()) for line in block.splitlines()[1:] if line.startswith("    /")}
    return {path for path in headers if not path.startswith((str(ROOT) + "/", os.path.realpath(build) + "/"))}


def named_files(build):
    """Files outside the tree that the build description names: linked libraries, CMake packages of libraries."""
    tokens = set(re.findall(r"(?<=[\s|])/(?:usr|lib)[^\s|:$]*", (Path(build) / "build.ninja").read_text()))
    return {token for token in tokens if os.path.isfile(token)}


def cuda_toolkit(cache):
    """Folders of NVIDIA's compiler, which is no package: scripts/setup cuda brings it. `cache`: text of CMakeCache.txt."""
    files = re.findall(r"(?m)^SPSCOPE_(?:NVCC|CUDA_INCLUDE):\w+=(/.*)$", cache)
    folders = {os.path.dirname(name) for path in files for name in (path, os.path.realpath(path))}
    return tuple(f"{folder}/" for folder in folders - {"/usr", *TOOL_FOLDERS})


def loaded_libraries(programs):
    """Shared libraries that the programs load, as the dynamic linker finds them; raises when one is not found."""
    libraries = set()
    for program in programs:
        text = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
        if "not found" in text:
            raise RuntimeError(f"{program} loads a library that is not there:\n{text}")
        libraries |= set(re.findall(r"(/\S+) \(0x", text))
    return libraries


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def shell_functions(text):
    return set(re.findall(r"(?m)^\s*(\w+)\s*\(\)", text))


def unquoted(match):
    """A string of a shell script without its text, but for what follows a `$(`."""
    rest = "".join(match.group()[:-1].partition("$(")[1:]) if match.group()[0] == '"' else ""
    return '""' + re.sub(r"'[^'\n]*'", "''", rest)


def shell_commands(text, builtins, sourced=""):
    """Names in command position of a shell script: what it runs, other than builtins, its functions and `sourced` ones.

    Of a string in double quotes only what follows a `$(` is a command; array literals, arithmetic, patterns of a case,
    quoted here-documents and programs after -c are none.
    """
    text = re.sub(r"(?ms)<<-?'(\w+)'(.*?)\n(.*?)^\1$", r"\2", text)
    text = re.sub(r"-c '[^']*'", "-c ''", text)
    text = re.sub(r"(?m)(^|\s)#.*$", " ", text)
    text = re.sub(r"\\\n", " ", text)
    text = re.sub(r""""(?:[^"\\]|\\.)*"|'[^']*'""", unquoted, text)
    text = re.sub(r"\+?=\([^)]*\)|\$\(\(.*?\)\)", "=x", text)
    text = re.sub(r"(?m)^[ \t]*[\w*.|-]+\)", "", text)
    own = shell_functions(text) | shell_functions(sourced)
    before = r"(?:^|[|&;(!{])[ \t]*(?:(?:if|then|else|elif|do|while|until|!|exec|env|command -v|sudo -n|\w+=[^\s(]*)[ \t]+)*"
    names = set(re.findall(before + r"([a-z][\w.+-]*)(?=[\s;)|&]|$)", text, re.MULTILINE))
    return names - own - builtins


def python_commands(text):
    """Names of programs that a Python file starts or looks for, where they are written out in the call."""
    names = set()
    for call in (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call) and node.args):
        function, first = ast.unparse(call.func), call.args[0]
        if function.startswith("subprocess.") and isinstance(first, ast.List) and first.elts:
            first = first.elts[0]
        elif function != "shutil.which":
            continue
        if isinstance(first, ast.Constant) and re.fullmatch(r"[a-z][\w.+-]*", str(first.value)):
            names.add(first.value)
    return names


def cmake_commands(text):
    return set(re.findall(r"find_program\(\s*\w+ (?:NAMES )?([a-z][\w.+-]*)", text))


def used_tools():
    """tool -> a file that uses it, over the scripts, tests and build files of the tree."""
    builtins = set(subprocess.run(["bash", "-c", "compgen -bk"], capture_output=True, text=True, check=True).stdout.split())
    tools = {"c++": "CMakeLists.txt", "cmake": "scripts/build", "ninja": "CMakePresets.json"}
    folders = ("scripts", ".ci", "tests", "samples", "cmake")
    for path in sorted(path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file()):
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        names = set()
        if text.startswith("#!") and "sh" in text.partition("\n")[0] or path.suffix in (".sh", ".inc"):
            shared = "\n".join(part.read_text() for part in sorted(path.parent.glob("*.inc")))
            names = shell_commands(text, builtins, shared)
        elif path.suffix == ".py":
            names = python_commands(text)
        elif path.name == "CMakeLists.txt" or path.suffix == ".cmake":
            names = cmake_commands(text)
        for name in names:
            tools.setdefault(name, str(path.relative_to(ROOT)))
    return tools


def imported_modules(text):
    names = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add(node.module.partition(".")[0])
    return names - set(sys.stdlib_module_names)


def used_modules():
    """Folders or files of the Python modules that tests and scripts import beside the standard library and their own."""
    files = [path for folder in ("scripts", "tests") for path in sorted((ROOT / folder).rglob("*.py"))]
    own = {path.stem for folder in ("scripts", "tests", "samples") for path in (ROOT / folder).rglob("*.py")}
    names = set().union(*(imported_modules(path.read_text()) for path in files)) - own
    return {f"{MODULES}/{name}/__init__.py" for name in names}


def locate(tool):
    return next((f"{folder}/{tool}" for folder in TOOL_FOLDERS if os.path.lexists(f"{folder}/{tool}")), None)


def follow_alternatives(path):
    """A name that the alternatives system manages, such as c++, is owned by the package of what it points to."""
    while os.path.islink(path) and "/etc/alternatives/" in os.readlink(path):
        path = os.readlink(os.readlink(path))
    return path


def check(build):
    """Sentences about what is not in the closure."""
    packages = read_packages((ROOT / "scripts/packages.txt").read_text())
    for name, (need, used_by) in packages.items():
        if need not in NEEDS:
            yield f"packages.txt: {name}: need is {need}, not one of {', '.join(NEEDS)}"
        if not (ROOT / used_by).exists():
            yield f"packages.txt: {name}: {used_by} does not exist"

    tools = used_tools()
    located = {tool: follow_alternatives(locate(tool)) for tool in tools if locate(tool)}
    for tool in sorted(set(tools) - set(located) - set(IF_PRESENT)):
        yield f"tool {tool} of {tools[tool]} is on no package's path"

    programs = [str(path) for path in (Path(build) / "bin").glob("*") if path.is_file() and is_elf(path)]
    kinds = {"named file": named_files(build), "header": included_headers(build), "library": loaded_libraries(programs),
             "tool": set(located.values()), "Python module": used_modules()}
    owner_of = owners(set().union(*kinds.values()))
    reached = closure(packages, read_status(STATUS.read_text()))
    if_present = {located[tool] for tool in IF_PRESENT if tool in located}
    toolkit = cuda_toolkit((Path(build) / "CMakeCache.txt").read_text())
    for kind, paths in kinds.items():
        outside = {}
        for path in paths - if_present:
            if path.startswith(toolkit) or path.startswith(f"{Path(build).resolve()}/"):  # a fake that the build made
                continue
            if owner_of.get(path) not in reached:
                outside.setdefault(owner_of.get(path, "no package"), []).append(path)
        for owner, found in sorted(outside.items()):
            yield f"{kind} {sorted(found)[0]} and {len(found) - 1} more belong to {owner}, which packages.txt does not bring"
    print(f"checked {', '.join(f'{len(paths)} x {kind}' for kind, paths in kinds.items())}; "
          f"the closure has {len(reached)} packages")


def main(build):
    if not STATUS.exists():
        print("skipped: no dpkg database")
        return SKIPPED
    if not (Path(build) / "build.ninja").exists():
        print("skipped: not a Ninja build")
        return SKIPPED
    faults = list(check(build))
    print("\n".join(faults) or "packages.txt suffices")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
