"""Texts as the commands read them: from files, tables and stdin."""
