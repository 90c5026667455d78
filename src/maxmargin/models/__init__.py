"""Model files: one zip of JSON and plain arrays per fitted estimator; loading runs no code from the file."""

from maxmargin.models.files import FORMAT as FORMAT
from maxmargin.models.files import load as load
from maxmargin.models.files import save as save
