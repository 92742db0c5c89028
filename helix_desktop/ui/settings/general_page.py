"""The page of the settings for how the window looks, what Enter does, and when the user is notified."""

from __future__ import annotations

from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.ui.design.style.stylesheet import TEXT_PX
from helix_desktop.ui.kit.forms import Choice, Segments, Toggle

text = TextContext("Settings: General")

GENERAL = (
    Segments("theme", text("Theme"), choices=(
        ("system", text("System")), ("light", text("Light", "theme")), ("dark", text("Dark", "theme")),
    )),
    Choice("text_size", text("Text size"), choices=tuple((px, text("{size} px", size=px)) for px in TEXT_PX)),
    Choice("reduce_motion", text("Reduce motion"),
           text("On: spinners, running bars and the text cursor stand still."),
           choices=(
               ("system", text("System")),
               ("on", text("On", "reduce motion")),
               ("off", text("Off", "reduce motion")),
           )),
    Toggle("enter_sends", text("Sending"), text("Off: Ctrl+Enter sends."),
           words=text("Enter sends, Shift+Enter starts a new line")),
    Toggle("titles", text("Session titles"),
           text("One short request after the first answer. Off: the first message is the title."),
           words=text("Name new sessions with the fast model")),
    Toggle("notify", text("Notifications"), words=text("Notify me while another window is in front")),
    Toggle("notify_waiting", needs="notify", words=text("The agent needs an approval or an answer")),
    Toggle("notify_turn", needs="notify", words=text("A turn of more than 10 s is done")),
    Toggle("notify_job", needs="notify", words=text("A background job of more than 10 s is done")),
    Toggle("notify_error", needs="notify", words=text("A turn ends with an error")),
    Toggle("notify_sound", needs="notify", words=text("Play a sound")),
)  # fmt: skip
