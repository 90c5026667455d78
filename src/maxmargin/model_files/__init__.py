"""Model files: one zip of JSON and plain arrays per fitted estimator; loading one runs nothing that is in it."""

from maxmargin.model_files.models import FORMAT as FORMAT
from maxmargin.model_files.models import load as load
from maxmargin.model_files.models import save as save
