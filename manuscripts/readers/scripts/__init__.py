"""Readers of texts with named speakers: screenplays in Fountain and Final Draft, subtitles."""
