from __future__ import annotations
def pronounce(word: str, language: str) -> str:
    return "?"
