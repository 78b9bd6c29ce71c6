"""`python -m keraszoo.shipping pretrained`: see `keraszoo.shipping.writing`."""

import sys

from keraszoo.shipping.writing import write

if __name__ == "__main__":
    write(*sys.argv[1:])
