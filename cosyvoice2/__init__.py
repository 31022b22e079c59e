"""CosyVoice2 in MLX."""
