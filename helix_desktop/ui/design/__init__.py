"""The design system: widgets, dialogs and formats that every view uses."""
