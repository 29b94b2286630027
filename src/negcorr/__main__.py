"""``python -m negcorr`` is the command ``negcorr``."""

from negcorr.cli import main

if __name__ == "__main__":
    main()
