"""`python -m keraszoo` is the command `keraszoo`."""

from keraszoo.cli import main

if __name__ == "__main__":
    main()
