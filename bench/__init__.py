"""Side-by-side benchmarks. `python -m bench` runs all, `python -m bench serving` one."""
