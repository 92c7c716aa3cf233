"""Data sets for structured prediction: made up, loaded, or fetched and cached."""

from ._conll2000 import fetch_conll2000
from ._digit_dates import load_digit_dates
from ._grids import make_grids
from ._images import fetch_snakes, fetch_weizmann_horses
from ._lspet_pose import fetch_lspet_pose
from ._ocr_letters import fetch_ocr_letters
from ._stick_figures import make_stick_figures
from ._synthetic import make_sequences

__all__ = [
    "fetch_conll2000",
    "fetch_lspet_pose",
    "fetch_ocr_letters",
    "fetch_snakes",
    "fetch_weizmann_horses",
    "load_digit_dates",
    "make_grids",
    "make_sequences",
    "make_stick_figures",
]
