"""Readers and writers of CoNLL columns, CRFsuite attributes, SVM-hmm sequences and svmlight rows."""
