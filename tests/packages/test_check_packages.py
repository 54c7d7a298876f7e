"""The parts of check_packages.py on toy databases and scripts whose answers are known."""
import tempfile
import unittest
from pathlib import Path

import check_packages

STATUS = """Package: base-files
Status: install ok installed
Priority: required
Depends: libc

Package: apt
Status: install ok installed
Priority: important

Package: libc
Status: install ok installed
Priority: optional

Package: compiler
Status: install ok installed
Priority: optional
Depends: assembler (>= 2.40), first-choice | second-choice, virtual-dev
Pre-Depends: libc
Recommends: manual

Package: assembler
Status: install ok installed
Priority: optional

Package: second-choice
Status: install ok installed
Priority: optional

Package: real-dev
Status: install ok installed
Priority: optional
Provides: virtual-dev (= 1), other-dev

Package: manual
Status: install ok installed
Priority: optional

Package: gone
Status: deinstall ok config-files
Priority: required
"""


class CudaToolkit(unittest.TestCase):
    def test_its_folders_are_those_that_the_build_found(self):
        cache = "CMAKE_CXX_COMPILER:FILEPATH=/usr/bin/c++\nSPSCOPE_NVCC:FILEPATH=/opt/cuda/bin/nvcc\n" \
                "SPSCOPE_CUDA_INCLUDE:PATH=/opt/cuda/include\n"
        self.assertEqual(set(check_packages.cuda_toolkit(cache)), {"/opt/cuda/bin/", "/opt/cuda/"})
        self.assertEqual(check_packages.cuda_toolkit("SPSCOPE_NVCC:FILEPATH=SPSCOPE_NVCC-NOTFOUND\n"), ())
        self.assertEqual(check_packages.cuda_toolkit("SPSCOPE_CUDA_INCLUDE:PATH=/usr/include\n"), ())


class Closure(unittest.TestCase):
    BARE = {"base-files", "apt", "libc"}

    def test_a_bare_machine_has_the_required_packages_and_apt(self):
        self.assertEqual(check_packages.closure([], check_packages.read_status(STATUS)), self.BARE)

    def test_depends_count_and_recommends_and_second_choices_do_not(self):
        reached = check_packages.closure(["compiler"], check_packages.read_status(STATUS))
        self.assertEqual(reached, self.BARE | {"compiler", "assembler", "real-dev"})

    def test_a_package_that_is_not_installed_brings_nothing(self):
        self.assertEqual(check_packages.closure(["absent"], check_packages.read_status(STATUS)), self.BARE)


class Owners(unittest.TestCase):
    def test_lib_and_usr_lib_are_one_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "libc6:amd64.list").write_text("/.\n/lib/arch/libc.so.6\n")
            (Path(folder) / "fmt.list").write_text("/usr/include/fmt/core.h\n")
            paths = ["/usr/lib/arch/libc.so.6", "/usr/include/fmt/core.h", "/usr/include/absent.h"]
            self.assertEqual(check_packages.owners(paths, Path(folder)), {paths[0]: "libc6", paths[1]: "fmt"})


class Commands(unittest.TestCase):
    def shell(self, text):
        return check_packages.shell_commands(text, {"cd", "if", "then", "fi", "exec", "echo", "command"})

    def test_commands_are_found_where_a_shell_runs_them(self):
        self.assertEqual(self.shell('cd a && make -j "$(nproc)" | tee log; if grep x f; then exec env A=1 tar xf -; fi\n'),
                         {"make", "nproc", "tee", "grep", "tar"})
        self.assertEqual(self.shell('root=$(cd -- "$(dirname -- "$0")" && pwd)\ncommand -v sqlite3\n'),
                         {"dirname", "pwd", "sqlite3"})
        self.assertEqual(self.shell("of() {\n  tar x\n}\nvictim=$(of make)\n"), {"tar"})

    def test_words_that_are_no_commands(self):
        self.assertEqual(self.shell('# make it\necho "a; make (tar)" \'| grep\' install\nhelp() {\n  echo a\n}\nhelp\na=(tar x)\necho $((a * 2))\n'), set())

    def test_programs_in_other_languages_and_patterns_are_no_commands(self):
        self.assertEqual(self.shell("python3 - x <<'END' | tee log\nimport sys\nassert x\nEND\nmake\n"), {"python3", "tee", "make"})
        self.assertEqual(self.shell("x=$(python3 -c '\nimport sys\nprint(x)\n' | sort)\n"), {"python3", "sort"})
        self.assertEqual(self.shell("case $x in\n  report) tar x ;;\n  sql*) make ;;\nesac\n"), {"make", "tar", "case", "esac"})

    def test_programs_that_python_starts(self):
        text = 'subprocess.run(["ldd", x])\nshutil.which("chromium")\nsubprocess.run([program, "tar"])\nx = "subprocess.run([\\"make\\"])"\n'
        self.assertEqual(check_packages.python_commands(text), {"ldd", "chromium"})

    def test_modules_beside_the_standard_library(self):
        self.assertEqual(check_packages.imported_modules("import sys\nfrom numpy.linalg import norm\nif 1:\n    import torch\n'import a'\n"),
                         {"numpy", "torch"})


if __name__ == "__main__":
    unittest.main()
