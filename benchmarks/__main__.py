"""``python -m benchmarks``: list, run and report experiments and benchmarks."""

from benchmarks.commands.main import main

if __name__ == "__main__":
    main()
