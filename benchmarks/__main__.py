"""``python -m benchmarks``: list, run and report experiments and benchmarks."""

from benchmarks.runner.command import main

if __name__ == "__main__":
    main()
