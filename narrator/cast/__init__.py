"""Who the voices are: the cast of a manifest, clips, presets, auditions and references."""
