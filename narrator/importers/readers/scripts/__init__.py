"""What is said by named speakers -> pages: screenplays in Fountain and Final Draft, subtitles."""
