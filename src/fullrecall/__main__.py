"""`python -m fullrecall`: the command line, for environments without its script on the path."""

from fullrecall.cli import main

if __name__ == "__main__":
    main()
