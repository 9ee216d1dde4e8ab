"""Arrays in, arrays out: the compiled loops, with no policy of their own."""
