# SPDX-License-Identifier: BSD-2-Clause
"""How quiet a run was, in words: for the tools that put measurements into documents.

A run says of each of its parts what tests/bench/quiet.h has: {"stolen_ppm", "others_ppm", "quiet"}, or
null where it is not known.
"""
import sys

FLAG = "--not-quiet"
HEAD = "stolen, others"  # of a column: by the hypervisor, of the CPUs' time by other programs


def percent(ppm):
    return f"{ppm / 10000:.1f} %"


def is_quiet(q):
    return bool(q and q["quiet"])


def figures(q):
    if not q:
        return "not known: **not quiet**"
    return (f"{percent(q['stolen_ppm'])}, {percent(q['others_ppm'])}" +
            ("" if q["quiet"] else ": **not quiet**"))


def worst(quiets):
    """Of several runs: the largest of each figure; quiet if all were, null if one is not known."""
    if not quiets or not all(quiets):
        return None
    return {"stolen_ppm": max(q["stolen_ppm"] for q in quiets),
            "others_ppm": max(q["others_ppm"] for q in quiets),
            "quiet": all(q["quiet"] for q in quiets)}


def noise(named):
    """Of [(name, quiet)]: what was not quiet, a line each."""
    return [f"{name}: " + (f"{percent(q['stolen_ppm'])} of the CPU time wanted was stolen, others used "
                           f"{percent(q['others_ppm'])} of the CPUs' time" if q else "not known")
            for name, q in named if not is_quiet(q)]


def refused(tool, noisy, flag):
    """Says what was not quiet; true if that keeps it out of the documents."""
    for line in noisy:
        print(f"{tool}: not quiet: {line}", file=sys.stderr)
    if not noisy or flag:
        return False
    print(f"{tool}: nothing is written: figures of a quiet run are not replaced by those of one that was "
          f"not. Run it again on an idle machine, or say {FLAG}: they are then marked.", file=sys.stderr)
    return True
