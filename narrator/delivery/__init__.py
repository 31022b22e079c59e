"""From takes to what listeners get: chapters laid out, music, files, companions, proof."""
