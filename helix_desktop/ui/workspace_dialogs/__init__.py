"""Dialogs about a workspace: cleaning up and the trash; export; importing sessions."""
