"""Aligners, folders of RNA, motifs."""
