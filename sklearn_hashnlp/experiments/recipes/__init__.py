"""Published experiments: a study is a file or a small group."""
