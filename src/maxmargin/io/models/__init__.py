"""Model files: one zip of JSON and plain arrays per fitted estimator; loading runs no code from the file."""

from maxmargin.io.models.models import FORMAT as FORMAT
from maxmargin.io.models.models import load as load
from maxmargin.io.models.models import save as save
