"""Dialogs about a workspace: cleaning up and the trash; importing sessions."""
