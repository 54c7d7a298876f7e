"""What check_packages.py must not overlook; what it finds too much fails where it is run on the tree."""
import unittest

import check_packages

STATUS = "\n\n".join(f"Package: {name}\nStatus: install ok installed\n{fields}" for name, fields in {
    "libc": "Priority: required", "assembler": "", "second-choice": "", "manual": "", "real-dev": "Provides: virtual-dev (= 1), other-dev",
    "compiler": "Depends: assembler (>= 2.40), first-choice | second-choice, virtual-dev\nRecommends: manual"}.items())


class Finds(unittest.TestCase):
    def test_no_more_than_a_bare_machine_installs(self):
        installed = check_packages.read_status(STATUS)
        self.assertEqual(check_packages.closure([], installed), {"libc"})
        self.assertEqual(check_packages.closure(["compiler"], installed), {"libc", "compiler", "assembler", "real-dev"})

    def test_commands_where_a_shell_runs_them(self):
        for script, commands in (
                ('cd a && make -j "$(nproc)" | tee log; if grep x f; then exec env A=1 tar xf -; fi\n', {"make", "nproc", "tee", "grep", "tar"}),
                ("python3 - x <<'END' | tee log\nimport sys\nEND\nmake\n", {"python3", "tee", "make"}),
                ("of() {\n  tar x\n}\nvictim=$(of make)\ncommand -v sqlite3\n", {"tar", "sqlite3"})):
            self.assertEqual(check_packages.shell_commands(script, {"cd", "if", "then", "fi", "exec", "command"}), commands)

    def test_programs_and_modules_of_python(self):
        text = 'subprocess.run(["ldd", x])\nshutil.which("chromium")\nsubprocess.run([program, "tar"])\n'
        self.assertEqual(check_packages.python_commands(text), {"ldd", "chromium"})
        self.assertEqual(check_packages.imported_modules("import sys\nfrom numpy.linalg import norm\nif 1:\n    import torch\n"),
                         {"numpy", "torch"})


if __name__ == "__main__":
    unittest.main()
