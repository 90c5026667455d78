from . import toy as toy
from .generate import make_chains as make_chains
from .generate import make_multiclass as make_multiclass
from .real import load_conll2002 as load_conll2002
from .real import load_ocr_letters as load_ocr_letters
from .rna import make_rna as make_rna
