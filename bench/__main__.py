"""`python -m bench [topic ...]`: runs benchmarks and writes bench/results/<topic>.md."""

from __future__ import annotations

import argparse

from bench import deploying, importing, reconcile, redeploy, registry, reliability, serving, startup

TOPICS = ("importing", "redeploy", "startup", "serving", "deploying", "reconcile", "reliability", "registry")


def main() -> None:
    """Run the topics asked for, or all."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("topics", nargs="*", choices=[*TOPICS, []], help="Default: all.")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5.0, help="Of each wrk run.")
    parser.add_argument("--mib", type=int, default=2048, help="Of the registry's tree.")
    options = parser.parse_args()
    wanted = options.topics or TOPICS
    if "importing" in wanted:
        importing.run(options.rounds * 5)
    if "redeploy" in wanted:
        redeploy.run(200)
    if "startup" in wanted:
        startup.run(options.rounds)
    if "serving" in wanted:
        serving.run(options.rounds, options.seconds)
    if "deploying" in wanted:
        deploying.run(options.rounds * 2 + 1)
    if "reconcile" in wanted:
        reconcile.run(options.rounds)
    if "reliability" in wanted:
        reliability.run(options.rounds)
    if "registry" in wanted:
        registry.run(options.rounds, options.mib)


if __name__ == "__main__":
    main()
