"""Empties functions of host C at random and demands that a suite notices each.

mutation_smoke.py --number N --seed S --jobs J --suites "NAME..." SOURCE...

Each picked function's body becomes a return of zero (or nothing) in a copy of the tree under
build/mutation, one copy a job; what depends on it is rebuilt there, and suites run, likeliest
first, until one fails. A suite must have passed on the tree as it is before its failure counts.
Exit code 0: every one was noticed; 1: some were not, and they are printed; 2: the run is no
measurement (a copy does not build, a suite fails as it is, no function found).
"""

import argparse
import os
import queue
import random
import re
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

FUNCTION = re.compile(
    r"^(?P<head>[A-Za-z_][^;{}=#()]*?[\s*])(?P<name>[A-Za-z_]\w*)\((?P<args>[^;{}]*)\) \{\n"
    r"(?P<body>.*?)^\}$", re.MULTILINE | re.DOTALL)
# A body that does nothing already: emptying it would change nothing.
EMPTY = re.compile(r"^(\s*\(void\)\w+;)*\s*(return (0|NULL|FG_STATUS_OK|false|0\.0);)?\s*$")
CLOSING = re.compile(r"Synthesis: Tested: (\d+) \| Passing: (\d+) \| Failing: (\d+) "
                     r"\| Crashing: (\d+)")
TREE = ("Makefile", "contract", "reference", "cuda", "fuser", "conformance", "fixtures")
BUILT = ("release", "suites", "plugins", "mutants", "fusegate", "fusegate-worker")


class NoMeasurement(Exception):
    """Something other than the emptied function went wrong."""


class Function:
    """A function definition: where it is and what its file becomes without its body."""

    def __init__(self, path, text, match):
        self.path, self.name, self.start = path, match["name"], match.start("body")
        self.body = match["body"]
        self.line = text.count("\n", 0, match.start("name")) + 1
        words = [w for w in match["head"].split() if w not in ("static", "inline", "_Noreturn")]
        kind = " ".join(words)
        empty = "" if kind == "void" else f"    return ({kind}){{0}};\n"
        self.mutated = text[:match.start("body")] + empty + text[match.end("body"):]

    def __str__(self):
        return f"{self.path}:{self.line} {self.name}"


def functions_of(path):
    text = Path(path).read_text(encoding="utf-8")
    return [Function(path, text, match) for match in FUNCTION.finditer(text)]


def suite_text(name):
    """A suite's source and those of the shared parts whose headers it includes."""
    text = Path(f"conformance/suites/test_{name}.c").read_text(encoding="utf-8")
    for part in set(re.findall(r'#include "(conformance/suites/\w+)\.h"', text)):
        if Path(part + ".c").exists():
            text += Path(part + ".c").read_text(encoding="utf-8")
    return text


def starts_programs(name):
    """Whether a suite starts build/fusegate or its worker, which must then be built first."""
    return re.search(r"client|program_run|fusegate", suite_text(name)) is not None


class Ranking:
    """Orders suites by how likely they notice a function."""

    def __init__(self, names, functions):
        self.names = names
        self.words = {name: set(re.findall(r"\w+", suite_text(name))) for name in names}
        self.starting = {name for name in names if starts_programs(name)}
        self.by_file = {}
        for function in functions:
            self.by_file.setdefault(function.path, []).append(function)

    def callers(self, function):
        """Names of the functions of its file through which it is reached, itself first."""
        reached = [function.name]
        for name in reached:
            for other in self.by_file[function.path]:
                if other.name not in reached and re.search(rf"\b{name}\b", other.body):
                    reached.append(other.name)
        return reached

    def order(self, function):
        stem = Path(function.path).stem
        callers = [name for name in self.callers(function) if name.startswith("fg_")]

        def score(name):
            words = self.words[name]
            points = 60 if function.name in words else 0
            points += 30 if any(caller in words for caller in callers) else 0
            points += 50 if name == stem else 25 if name in stem or stem in name else 0
            points += 5 * len(set(stem.split("_")) & set(name.split("_")))
            points += 10 if Path(function.path).parent.name in words else 0
            return points

        return sorted(self.names, key=score, reverse=True)


def run_suite(name, folder, limit):
    """Returns whether a suite passes, and the seconds it took."""
    started = time.monotonic()
    command = ["timeout", "--kill-after=5", str(limit), f"build/suites/test_{name}",
               "--jobs", "1", "--fail-fast"]
    environment = dict(os.environ, OPENBLAS_NUM_THREADS="1")
    done = subprocess.run(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    closing = CLOSING.search(done.stdout.decode(errors="replace"))
    counts = [int(count) for count in closing.groups()] if closing else [0, 0, 0, 0]
    passed = done.returncode == 0 and counts[0] > 0 and counts[0] == counts[1]
    return passed, time.monotonic() - started


class Baseline:
    """Runs each suite once on the tree as it is, when it is first needed."""

    def __init__(self):
        self.lock, self.seconds = threading.Lock(), {}

    def limit(self, name):
        with self.lock:
            if name not in self.seconds:
                passed, seconds = run_suite(name, ".", 900)
                if not passed:
                    raise NoMeasurement(f"test_{name} fails on the tree as it is")
                self.seconds[name] = seconds
            return int(3 * self.seconds[name]) + 20


def copy_tree(folder):
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "build").mkdir(parents=True)
    for name in TREE:
        if Path(name).exists():
            subprocess.run(["cp", "-a", name, str(folder)], check=True)
    for name in BUILT:
        if Path("build", name).exists():
            subprocess.run(["cp", "-a", f"build/{name}", str(folder / "build")], check=True)


def build(folder, *targets):
    done = subprocess.run(["make", "-s", "EXTRA_CFLAGS=-w", *targets], cwd=folder, check=False,
                          env={k: v for k, v in os.environ.items() if not k.startswith("MAKE")},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        raise NoMeasurement(f"{folder} does not build:\n{done.stdout.decode(errors='replace')}")


def notice(function, folder, ranking, baseline):
    """Returns the suite that fails without the function's body, or None."""
    target = folder / function.path
    target.write_text(function.mutated, encoding="utf-8")
    try:
        for name in ranking.order(function):
            limit = baseline.limit(name)
            build(folder, *(["build"] if name in ranking.starting else []),
                  f"build/suites/test_{name}")
            if not run_suite(name, folder, limit)[0]:
                return name
        return None
    finally:
        # A new time, so that the next build compiles the whole function again.
        target.write_text(Path(function.path).read_text(encoding="utf-8"), encoding="utf-8")


def work(todo, folder, ranking, baseline, survivors, troubles):
    try:
        copy_tree(folder)
        while not troubles:
            function = todo.get_nowait()
            started = time.monotonic()
            name = notice(function, folder, ranking, baseline)
            verdict = f"test_{name} fails" if name else "NOT NOTICED"
            print(f"{verdict:32} {time.monotonic() - started:5.1f} s  {function}", flush=True)
            if name is None:
                survivors.append(function)
    except queue.Empty:
        return
    except (NoMeasurement, OSError, subprocess.SubprocessError) as trouble:
        troubles.append(trouble)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--number", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--suites", required=True)
    parser.add_argument("--only", default="", help="a regular expression on 'file:line name'")
    parser.add_argument("sources", nargs="*")
    options = parser.parse_args()

    sources = [source for source in options.sources if not source.startswith("cuda/")]
    functions = [function for source in sources for function in functions_of(source)]
    candidates = [function for function in functions
                  if not EMPTY.match(function.body) and re.search(options.only, str(function))]
    names = options.suites.split()
    if not candidates or not names or options.number < 1:
        print(f"mutation-smoke: {len(candidates)} functions, {len(names)} suites, "
              f"N={options.number}: nothing to measure", file=sys.stderr)
        return 2
    number = min(options.number, len(candidates))
    picked = random.Random(options.seed).sample(candidates, number)
    print(f"mutation-smoke: {number} of {len(candidates)} functions, SEED={options.seed}")

    todo, survivors, troubles, baseline = queue.Queue(), [], [], Baseline()
    for function in picked:
        todo.put(function)
    ranking = Ranking(names, functions)
    threads = [threading.Thread(target=work, args=(todo, Path(f"build/mutation/{job}"), ranking,
                                                   baseline, survivors, troubles))
               for job in range(min(options.jobs, number))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    for trouble in troubles:
        print(f"mutation-smoke: no measurement: {trouble}", file=sys.stderr)
    if troubles:
        return 2
    for function in survivors:
        print(f"mutation-smoke: no suite fails when this is emptied: {function}")
    print(f"mutation-smoke: {number - len(survivors)} of {number} noticed, SEED={options.seed}")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
