"""Judges gcovr's JSON summary: gate.py SUMMARY LINE_PERCENT BRANCH_PERCENT SOURCE...

Prints the totals and the weakest files. Fails below a gate, and when a source is missing from the
report: gcovr itself passes an empty list of files.
"""

import json
import sys


def main(path, line_gate, branch_gate, sources):
    with open(path, encoding="utf-8") as file:
        summary = json.load(file)
    files = {entry["filename"]: entry for entry in summary["files"]}
    expected = [source for source in sources if not source.startswith("cuda/")]
    missing = [source for source in expected if source not in files]
    for source in missing:
        print(f"coverage: {source} is missing from the report", file=sys.stderr)

    print("lines  branches  weakest files")
    for entry in sorted(files.values(), key=lambda entry: entry["line_percent"])[:8]:
        print(f"{entry['line_percent']:5.1f} {entry['branch_percent']:9.1f}  {entry['filename']}")
    failed = bool(missing) or not expected
    for name, gate in (("line", line_gate), ("branch", branch_gate)):
        covered, total = summary[f"{name}_covered"], summary[f"{name}_total"]
        percent = 100.0 * covered / total if total else 0.0
        verdict = "ok" if percent >= gate else "TOO LOW"
        failed = failed or not percent >= gate
        print(f"coverage of host C, {name}: {percent:.1f} % ({covered} of {total}),"
              f" gate {gate:.0f} %: {verdict}")
    print(f"coverage: {len(files)} files, {len(missing)} missing; see {path.rsplit('/', 1)[0]}/")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], float(sys.argv[2]), float(sys.argv[3]), sys.argv[4:]))
