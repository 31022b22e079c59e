"""narrator: a manuscript and a cast in, a finished audiobook or podcast out.

Importing this package loads no engine and no model.
"""

__version__ = "0.2.0"
