"""Songs: separates, aligns, converts parts, mixes."""
