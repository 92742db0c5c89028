<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="en_US" sourcelanguage="en_US">
    <context>
        <name>About</name>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/settings/about/licenses_card.py" />
            <source>%n components</source>
            <translation>
                <numerusform>%n component</numerusform>
                <numerusform>%n components</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/settings/about/diagnostics_dialog.py" />
            <source>%n files, {size}</source>
            <translation>
                <numerusform>%n file, {size}</numerusform>
                <numerusform>%n files, {size}</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/about/diagnostics_dialog.py" />
            <source>A zip file for a bug report: versions, settings, policies, sizes, the self-check, and the end of the app's logs. You choose where it's saved. Nothing is sent.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/about/page.py" />
            <source>About Helix Desktop</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/about/page.py" />
            <source>An AI coding agent whose context stays small, complete and visible.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/about/licenses_card.py" />
            <source>Bundled components</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/about/diagnostics_dialog.py" />
            <location filename="../../helix_desktop/ui/workspaces/settings/move_data.py" />
            <source>Cancel</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/about/page.py" />
            <source>Check for updates</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/about/presenter.py" />
            <source>Checking…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/about/diagnostics_dialog.py" />
            <source>Collecting…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/about/diagnostics_dialog.py" />
            <source>Collecting… The self-check can take a minute. Clear its box to save without it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/about/page.py" />
            <source>Copied</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/about/page.py" />
            <source>Copy</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/about/page.py" />
            <source>Copy version details for a bug report</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/about/presenter.py" />
            <source>Couldn't check for updates.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/about/page.py" />
            <source>Data</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/about/diagnostics_presenter.py" />
            <location filename="../../helix_desktop/ui/settings/about/presenter.py" />
            <source>Display</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/about/diagnostics_dialog.py" />
            <source>Files in the bundle</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/settings/move_data.py" />
            <source>Helix Desktop closes, copies and verifies the data, and opens again. Running tasks stop. If the move is interrupted, the data stays where it is.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/about/diagnostics_dialog.py" />
            <source>Include names of workspaces, providers and models</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/about/licenses_card.py" />
            <source>License of {name}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/settings/move_data.py" />
            <source>Move and keep old copy</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/settings/move_data.py" />
            <source>Move and remove old copy</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/settings/move_data.py" />
            <source>Move the data to an empty folder</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/about/page.py" />
            <source>Move the data to another folder</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/settings/move_data.py" />
            <source>Move {size} to {folder}?</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/about/page.py" />
            <source>Move…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/about/diagnostics_dialog.py" />
            <source>Never included: messages, outputs, file contents, API keys and headers. Your home folder is replaced by ~, and email addresses are removed.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/build_info.py" />
            <source>No connection: {detail}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/about/page.py" />
            <source>Open {url}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/about/page.py" />
            <source>Open-source licenses</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/about/diagnostics_dialog.py" />
            <location filename="../../helix_desktop/ui/settings/about/diagnostics_presenter.py" />
            <source>Save diagnostics</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/about/page.py" />
            <source>Save diagnostics…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/about/presenter.py" />
            <source>Saved as {file}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/about/diagnostics_dialog.py" />
            <source>Save…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/about/licenses_card.py" />
            <source>Search names and licenses</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/about/diagnostics_dialog.py" />
            <source>Select a file to save.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/about/page.py" />
            <source>Show folder</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/build_info.py" />
            <source>System</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/build_info.py" />
            <source>The server answered with status {status}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/build_info.py" />
            <source>The server didn't answer within {seconds} s.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/build_info.py" />
            <source>The server redirects to an invalid address.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/update_check.py" />
            <source>The server's answer doesn't name a release.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/build_info.py" />
            <source>The server's answer is too long.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/build_info.py" />
            <source>The update source must be an https address.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/about/page.py" />
            <source>This build has no update source.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/update_check.py" />
            <source>Version {newest} from {day} is available (you have {current}).</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/update_check.py" />
            <source>Version {newest} is available (you have {current}).</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/about/diagnostics_presenter.py" />
            <source>Without a keychain ({reason}), keys are recognized by their form.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/update_check.py" />
            <source>You're up to date ({current}).</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/update_check.py" />
            <source>Your version ({current}) is newer than the newest release ({newest}).</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/about/diagnostics_dialog.py" />
            <source>{file} · {state}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/build_info.py" />
            <source>{host} redirects to another server.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/build_info.py" />
            <source>{host} redirects too often.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/about/licenses_card.py" />
            <source>{shown} of {total}</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Actions</name>
        <message>
            <location filename="../../helix_desktop/words/action_labels.py" />
            <source>Choose model…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/action_labels.py" />
            <source>Compact conversation…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/action_labels.py" />
            <source>Continue</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/action_labels.py" />
            <source>Edit…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/action_labels.py" />
            <source>New session</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/action_labels.py" />
            <source>Open in Changes</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/action_labels.py" />
            <source>Open log folder</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/action_labels.py" />
            <source>Open parent session</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/action_labels.py" />
            <source>Open policy settings</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/action_labels.py" />
            <source>Open provider settings</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/action_labels.py" />
            <source>Redo</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/action_labels.py" />
            <source>Retry</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/action_labels.py" />
            <source>Retry now</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/action_labels.py" />
            <source>Send as message</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/action_labels.py" />
            <source>Send without images</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/action_labels.py" />
            <source>Set session budget…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/action_labels.py" />
            <source>Show</source>
            <comment>button: show this in the chat</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/action_labels.py" />
            <source>Show in timeline</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/action_labels.py" />
            <source>Stop</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/action_labels.py" />
            <source>Trust folder…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/action_labels.py" />
            <source>Undo</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/action_labels.py" />
            <source>Undo last compaction</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Agent</name>
        <message numerus="yes">
            <location filename="../../helix_desktop/agent/cached_content.py" />
            <source>%n bytes match the digest</source>
            <translation>
                <numerusform>%n byte matches the digest</numerusform>
                <numerusform>%n bytes match the digest</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/agent/conversation.py" />
            <source>A subagent keeps the policy that it starts with.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/conversation.py" />
            <source>A subagent works in the mode of its parent session.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/branches.py" />
            <source>A subagent's session can't be branched.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/conversation.py" />
            <source>A subagent's session can't be pinned or archived.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/intake/output_forms.py" />
            <source>A summary or a note replaced it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/window/compactor.py" />
            <location filename="../../helix_desktop/agent/window/observations.py" />
            <source>Already running.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/intake/output_forms.py" />
            <source>An image can't be shortened.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/errors.py" />
            <source>Another model would receive the whole session.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/window/compactor.py" />
            <source>Another one is active by now, or none.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/window/side_questions.py" />
            <source>Another side question is being answered.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/conversation.py" />
            <source>Answer or stop it first.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/window/side_questions.py" />
            <source>Ask again, or send it as a message.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/intake/output_forms.py" />
            <source>Ask for less, or send a preview.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/tools/files/attach.py" />
            <source>Ask the agent to search it in the workspace.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/intake/attachments.py" />
            <source>Attach a copy without one.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/intake/attachments.py" />
            <source>Attach a part of it, or ask the agent to search it in the workspace.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/tools/files/attach.py" />
            <source>Attach a regular file inside the workspace.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/intake/attachments.py" />
            <source>Attach fewer pages of it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/intake/attachments.py" />
            <source>Attach its pages as images.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/intake/attachments.py" />
            <source>Attach its text in another format.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/intake/attachments.py" />
            <source>Attach text, code, a PDF or an image (PNG, JPEG, GIF, WebP).</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/branches.py" />
            <source>Branch the session that it works for.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/window/handovers.py" />
            <source>Can't compact up to this message (e{event}).</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/conversation.py" />
            <source>Change it there.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/conversation.py" />
            <source>Change the policy of its parent session or of the workspace.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/tools/files/attach.py" />
            <source>Check the file's permissions.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/tools/files/attach.py" />
            <source>Check the path.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/intake/extractor.py" />
            <source>Choose a model in Settings.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/window/manager.py" />
            <source>Choose a model with a larger context window, or start a new session.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/window/handovers.py" />
            <source>Choose another message.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/intake/attachments.py" />
            <source>Choose lines in it, such as {example}.</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/agent/session_updates.py" />
            <source>Choosing how to keep %n large outputs…</source>
            <translation>
                <numerusform>Choosing how to keep %n large output…</numerusform>
                <numerusform>Choosing how to keep %n large outputs…</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/agent/session_updates.py" />
            <source>Choosing how to keep %n large outputs… (slow model: up to {seconds} s)</source>
            <translation>
                <numerusform>Choosing how to keep %n large output… (slow model: up to {seconds} s)</numerusform>
                <numerusform>Choosing how to keep %n large outputs… (slow model: up to {seconds} s)</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/agent/window/side_questions.py" />
            <source>Compact the conversation, then ask again.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/window/handovers.py" />
            <source>Compaction starts automatically when the context window fills.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/window/manager.py" />
            <source>Context management is off. Turn it on in Settings → Context policy.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/intake/attachments.py" />
            <location filename="../../helix_desktop/tools/files/attach.py" />
            <source>Couldn't attach {file}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/intake/output_forms.py" />
            <source>Describe what it must contain.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/cached_content.py" />
            <source>Each workspace keeps its own cache.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/models/completion.py" />
            <location filename="../../helix_desktop/agent/response_stream.py" />
            <source>Empty response from the model.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/cached_content.py" />
            <source>Enter more digits.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/window/summarizer.py" />
            <source>Even a shortened request exceeds {tokens} tokens.</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/agent/intake/extractor.py" />
            <source>Extracted from %n parts.</source>
            <translation>
                <numerusform>Extracted from %n part.</numerusform>
                <numerusform>Extracted from %n parts.</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/agent/session_updates.py" />
            <source>Extracting from %n large outputs…</source>
            <translation>
                <numerusform>Extracting from %n large output…</numerusform>
                <numerusform>Extracting from %n large outputs…</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/agent/branches.py" />
            <source>It belongs to the call that started it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/window/handovers.py" />
            <source>It can only end after a complete step, before the newest part.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/intake/attachments.py" />
            <source>It can't be read as a PDF.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/response_stream.py" />
            <source>It ended without text or a tool call.</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/agent/intake/attachments.py" />
            <source>It has %n lines.</source>
            <translation>
                <numerusform>It has %n line.</numerusform>
                <numerusform>It has %n lines.</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/agent/conversation.py" />
            <source>It has about {tokens} tokens; this model has room for {limit}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/intake/attachments.py" />
            <location filename="../../helix_desktop/tools/files/attach.py" />
            <source>It has {size}; the limit is {limit}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/branches.py" />
            <source>It is empty.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/conversation.py" />
            <source>It is listed below the session that it works for.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/intake/attachments.py" />
            <source>It is protected by a password.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/conversation.py" />
            <source>It is waiting for you.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/intake/attachments.py" />
            <source>It isn't text ({kind}, {size}).</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/intake/output_forms.py" />
            <source>It needs about {needed} more tokens; {left} are left.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/window/manager.py" />
            <source>It needs about {used} tokens plus {reserve} for the answer; the model has {window}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/window/side_questions.py" />
            <source>It sent no text, or tried to use a tool.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/window/summarizer.py" />
            <source>It took more than {count} calls.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/window/compactor.py" />
            <source>It would free less than it costs.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/window/handovers.py" />
            <source>It would free less than {share} % of the context window.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/window/compactor.py" />
            <source>It would free only {tokens} tokens, less than {share} % of the context window.</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/agent/intake/attachments.py" />
            <source>Its %n pages hold pictures, without text.</source>
            <translation>
                <numerusform>Its %n page holds pictures, without text.</numerusform>
                <numerusform>Its %n pages hold pictures, without text.</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/agent/cached_content.py" />
            <source>Lines can't be searched here.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/cached_content.py" />
            <source>List the cache entries to find it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/cached_content.py" />
            <source>No cached output starts with {digest}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/intake/extractor.py" />
            <source>No model can write an extract.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/window/summarizer.py" />
            <source>No model could write it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/engine.py" />
            <source>No turn to retry.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/window/handovers.py" />
            <source>Not enough to compact yet.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/window/handovers.py" />
            <source>Nothing to compact yet.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/window/handovers.py" />
            <source>Nothing to summarize yet.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/window/compactor.py" />
            <source>Nothing was changed.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/errors.py" />
            <source>Nothing was sent. Choose a model to continue.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/window/observations.py" />
            <source>Observations are being written.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/intake/output_forms.py" />
            <source>Only text can be sent as a preview or an extract.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/intake/output_forms.py" />
            <source>Only tool outputs can be sent as a preview or an extract.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/engine.py" />
            <source>Open the log for details.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/window/compactor.py" />
            <source>Open the timeline and try again.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/conversation.py" />
            <source>Pin or archive that session.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/budget.py" />
            <source>Raise the budget in the Session menu or with --budget-tokens and --budget-usd, then continue.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/intake/attachments.py" />
            <source>Reading its text takes too long.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/window/handovers.py" />
            <source>Send a message first.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/intake/output_forms.py" />
            <source>Send a preview or an extract, or compact the conversation first.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/window/handovers.py" />
            <location filename="../../helix_desktop/agent/window/observations.py" />
            <source>Send another message first.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/response_stream.py" />
            <source>Send the message again, or choose another model.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/cached_content.py" />
            <source>Several cached outputs start with {digest}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/conversation.py" />
            <source>Shorten it, attach less, or choose a model with a larger context window.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/engine.py" />
            <source>Something went wrong.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/branches.py" />
            <source>Start a new session.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/intake/output_form_prompt.py" />
            <source>The agent didn't choose in time.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/intake/output_form_prompt.py" />
            <source>The agent didn't say how to keep it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/budget.py" />
            <source>The budget of the parent session is used up.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/window/compactor.py" />
            <source>The conversation is being compacted.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/window/side_questions.py" />
            <source>The conversation uses {used} of {window} tokens.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/window/compactor.py" />
            <source>The conversation wasn't compacted.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/intake/extractor.py" />
            <source>The extract has {tokens} tokens; it must have fewer than {limit}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/intake/output_forms.py" />
            <source>The extract needs instructions.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/intake/output_gate.py" />
            <source>The extract wasn't ready in time.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/intake/output_forms.py" />
            <source>The extract wasn't used.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/window/compactor.py" />
            <source>The handover wasn't changed.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/window/compactor.py" />
            <location filename="../../helix_desktop/agent/window/observer.py" />
            <source>The history changed in the meantime.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/window/manager.py" />
            <source>The largest part is {name} with {tokens} tokens.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/engine.py" />
            <source>The last turn is complete.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/intake/extractor.py" />
            <source>The middle of the output was left out.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/conversation.py" />
            <source>The mode wasn't changed.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/window/side_questions.py" />
            <source>The model didn't answer the side question.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/window/summarizer.py" />
            <source>The model sent no summary.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/errors.py" />
            <source>The model's summary wasn't used.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/window/handovers.py" />
            <source>The newest complete turn always stays in full.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/window/manager.py" />
            <source>The next request doesn't fit the context window.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/window/manager.py" />
            <source>The next request is invalid and wasn't sent.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/window/observations.py" />
            <source>The observations are up to date.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/window/observer.py" />
            <source>The observations weren't used.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/window/observer.py" />
            <source>The observations weren't written.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/intake/extractor.py" />
            <source>The offline demo model only follows a script.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/intake/extractor.py" />
            <source>The output doesn't fit its context window.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/intake/output_forms.py" />
            <source>The output doesn't fit the context window.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/window/summarizer.py" />
            <source>The parts don't fit either.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/conversation.py" />
            <source>The policy of this session wasn't changed.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/budget.py" />
            <source>The session budget is used up.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/branches.py" />
            <source>The session can't be branched there.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/conversation.py" />
            <source>The session wasn't archived.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/window/side_questions.py" />
            <source>The side question doesn't fit the context window.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/window/side_questions.py" />
            <source>The side question is empty.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/intake/attachments.py" />
            <source>The workspace's folder is missing.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/intake/output_form_prompt.py" />
            <source>There was no room to ask the agent.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/window/observations.py" />
            <source>They cover everything except the newest complete turn, which stays in full.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/window/observer.py" />
            <source>They have {tokens} tokens; the messages they replace have {covered}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/intake/output_forms.py" />
            <source>This can't be sent in another form.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/tools/files/attach.py" />
            <source>This file was not found in the workspace.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/trust.py" />
            <source>This folder isn't trusted yet.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/conversation.py" />
            <source>This message is too long.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/intake/output_forms.py" />
            <source>This output isn't in the context.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/window/handovers.py" />
            <source>This session has no messages.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/errors.py" />
            <source>This session used {model} so far.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/trust.py" />
            <source>Trust the folder if you know what it contains.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/models/completion.py" />
            <location filename="../../helix_desktop/domain/errors.py" />
            <source>Try again, or choose another model.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/window/side_questions.py" />
            <source>Type what you want to know.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/intake/output_forms.py" />
            <source>Undo that, or pin the output first.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/window/manager.py" />
            <source>Undo the last compaction, or report this problem.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/trust.py" />
            <source>Until it is, nothing runs or is sent. You can view sessions and cache.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/budget.py" />
            <source>Used: {spent} of {limit} tokens and {spent_cost} of {cost_limit}, including subagents.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/budget.py" />
            <source>Used: {spent} of {limit} tokens, including subagents and summaries.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/budget.py" />
            <source>Used: {spent} of {limit}, including subagents and summaries.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/window/side_questions.py" />
            <source>Wait for it, or cancel it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/window/compactor.py" />
            <location filename="../../helix_desktop/agent/window/observations.py" />
            <source>Wait, or cancel.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/models/completion.py" />
            <source>{model} couldn't answer.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/intake/extractor.py" />
            <source>{model} couldn't write it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/window/summarizer.py" />
            <source>{model} has room for {capacity} of {tokens} tokens.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/window/summarizer.py" />
            <source>{model} read a shortened version.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/window/summarizer.py" />
            <source>{model} read it in parts.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/models/completion.py" />
            <source>{model} sent no text.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/window/summarizer.py" />
            <source>{model} wrote it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/errors.py" />
            <source>{model}, chosen for this session, isn't available.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/window/summarizer.py" />
            <source>{model}: {reason}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/tools/files/attach.py" />
            <source>{reason}.</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Attachments</name>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/attachments.py" />
            <source>%n lines</source>
            <translation>
                <numerusform>%n line</numerusform>
                <numerusform>%n lines</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/attachments.py" />
            <source>%n pages</source>
            <translation>
                <numerusform>%n page</numerusform>
                <numerusform>%n pages</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/words/attachments.py" />
            <source>1 token</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/attachments.py" />
            <source>Pasted: {words}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/attachments.py" />
            <source>line {line}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/attachments.py" />
            <source>lines {first}–{last}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/attachments.py" />
            <source>preview, {tokens} of {full} tokens</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/attachments.py" />
            <source>{tokens} tokens</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Budget</name>
        <message>
            <location filename="../../helix_desktop/ui/budget/dialog.py" />
            <source>Cancel</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/budget/status_line.py" />
            <source>Click to set a budget.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/budget/dialog.py" />
            <source>No limit</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/budget/dialog.py" />
            <source>Prices of this model are unknown. Only its tokens count.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/budget/status_line.py" />
            <source>Provider cache: input tokens as providers reported them, without subagents and summaries.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/budget/dialog.py" />
            <source>Session budget</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/budget/status_line.py" />
            <source>Session usage: {usage}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/budget/dialog.py" />
            <source>Set budget</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/budget/status_line.py" />
            <source>Set session budget</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/budget/status_line.py" />
            <source>The context gauge counts only the next request.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/budget/dialog.py" />
            <source>These limits come from the workspace. Changes apply to this session only.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/budget/dialog.py" />
            <source>Tokens sent and received</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/budget/status_line.py" />
            <source>Tokens sent and received in this session, including subagents and summaries.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/budget/dialog.py" />
            <source>US dollars</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/budget/dialog.py" />
            <source>Used so far: {usage}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/budget/dialog.py" />
            <source>When the budget is used up, the turn stops before its next model call. Nothing is lost: raise the budget to continue. Subagents and summaries count too.</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Cache</name>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/workspaces/cache_export.py" />
            <source>%n damaged entries were left out.</source>
            <translation>
                <numerusform>%n damaged entry was left out.</numerusform>
                <numerusform>%n damaged entries were left out.</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/cache/filter_bar.py" />
            <location filename="../../helix_desktop/ui/session/recall.py" />
            <source>%n entries</source>
            <translation>
                <numerusform>%n entry</numerusform>
                <numerusform>%n entries</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/workspaces/cache_export.py" />
            <source>%n entries saved to {place}.</source>
            <translation>
                <numerusform>%n entry saved to {place}.</numerusform>
                <numerusform>%n entries saved to {place}.</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/cache/presenter.py" />
            <source>%n entries verified.</source>
            <translation>
                <numerusform>%n entry verified.</numerusform>
                <numerusform>%n entries verified.</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/workspaces/cache_export.py" />
            <source>%n entries were saved to {place}.</source>
            <translation>
                <numerusform>%n entry was saved to {place}.</numerusform>
                <numerusform>%n entries were saved to {place}.</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/session/recall.py" />
            <source>%n matching lines</source>
            <translation>
                <numerusform>%n matching line</numerusform>
                <numerusform>%n matching lines</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/cache/presenter.py" />
            <source>%n of {total} entries are damaged.</source>
            <translation>
                <numerusform>%n of {total} entries is damaged.</numerusform>
                <numerusform>%n of {total} entries are damaged.</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/cache/preview/pane.py" />
            <source>%n references</source>
            <translation>
                <numerusform>%n reference</numerusform>
                <numerusform>%n references</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/preview/pane.py" />
            <source>Adds it to the next message (Ctrl+Enter)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/filter_options.py" />
            <source>Age</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/cache/handover_hits.py" />
            <source>Also in %n handovers:</source>
            <translation>
                <numerusform>Also in a handover:</numerusform>
                <numerusform>Also in %n handovers:</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/columns.py" />
            <source>Argument</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/table.py" />
            <source>Cache entries</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/state_labels.py" />
            <source>Cached</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/filter_bar.py" />
            <location filename="../../helix_desktop/ui/cache/recall/dialog.py" />
            <source>Cancel</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/presenter.py" />
            <source>Choose another folder.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/view.py" />
            <source>Clear filter</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/table_model.py" />
            <source>Click to sort</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/preview/pane.py" />
            <source>Close quick look (Esc)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/view.py" />
            <source>Columns</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/preview/entry_content.py" />
            <source>Compared with the previous version · {time} · {size}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/preview/entry_content.py" />
            <source>Comparing…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/preview/pane.py" />
            <source>Compute the SHA-256 again and compare (V)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/row_menu.py" />
            <source>Copy as table</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/row_menu.py" />
            <source>Copy content</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/row_menu.py" />
            <source>Copy digest</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/preview/pane.py" />
            <source>Copy digest (Ctrl+C)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/row_menu.py" />
            <source>Copy link</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/row_menu.py" />
            <source>Copy marker</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/presenter.py" />
            <source>Couldn't save {file}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/columns.py" />
            <source>Created</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/preview/pane.py" />
            <location filename="../../helix_desktop/ui/cache/state_labels.py" />
            <source>Damaged</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/saved_filters.py" />
            <source>Delete</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/preview/entry_content.py" />
            <source>Diff</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/view.py" />
            <source>Every tool output is stored here, byte for byte.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/recall/dialog.py" />
            <source>Everything</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/filter_bar.py" />
            <source>Filter</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/presenter.py" />
            <source>Filter by Damaged to see them. Run the tool again to repair an entry.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/filter_bar.py" />
            <source>Filter by state, tool, session, size, age or use</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/cache_filters.py" />
            <source>Filter “{name}” deleted.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/cache_filters.py" />
            <source>Filter “{name}” replaced.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/row_menu.py" />
            <source>Find in content</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/cache/view.py" />
            <source>First %n matches in {total} entries</source>
            <translation>
                <numerusform>First match in {total} entries</numerusform>
                <numerusform>First %n matches in {total} entries</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/columns.py" />
            <source>First line</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/column_layout.py" />
            <source>Fit columns to window</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/view.py" />
            <source>Go to chat</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/preview/entry_content.py" />
            <source>Hex</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/preview/entry_content.py" />
            <source>Image</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/state_labels.py" />
            <source>In context</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/state_labels.py" />
            <source>In trash</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/state_labels.py" />
            <source>Index</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/recall.py" />
            <source>It has fewer lines.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/state_labels.py" />
            <source>Its bytes no longer match their SHA-256.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/filter_options.py" />
            <source>Last 24 hours</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/filter_options.py" />
            <source>Last 7 days</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/filter_options.py" />
            <source>Last hour</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/columns.py" />
            <source>Last used</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/filter_options.py" />
            <source>Less than {size}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/recall/dialog.py" />
            <source>Lines</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/recall/dialog.py" />
            <source>Lines around each</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/recall/dialog.py" />
            <source>Lines around each match</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/state_labels.py" />
            <source>Lists what a note or summary replaced.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/table_model.py" />
            <source>Matching line</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/recall/dialog.py" />
            <source>Matching lines</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/columns.py" />
            <source>Messages that use it</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/filter_bar.py" />
            <source>More actions</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/row_menu.py" />
            <source>Move to trash</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/filter_options.py" />
            <source>Never recalled</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/view.py" />
            <source>No cached outputs yet. Tool outputs appear here as the agent works.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/view.py" />
            <source>No entries match this filter</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/view.py" />
            <source>No entries match “{query}”</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/recall.py" />
            <source>No line matches.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/preview/entry_content.py" />
            <source>No previous version of this output is stored.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/state_labels.py" />
            <source>Not part of this session.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/preview/pane.py" />
            <source>Not verified yet</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/state_labels.py" />
            <source>Noted</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/filter_options.py" />
            <source>Older than 30 days</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/row_menu.py" />
            <source>Open preview</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/preview/pane.py" />
            <source>Output</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/session/recall.py" />
            <source>Over %n matching lines</source>
            <translation>
                <numerusform>Over %n matching line</numerusform>
                <numerusform>Over %n matching lines</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/state_labels.py" />
            <source>Partial</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/row_menu.py" />
            <source>Pin</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/filter_options.py" />
            <location filename="../../helix_desktop/ui/cache/state_labels.py" />
            <source>Pinned</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/state_labels.py" />
            <source>Pinned: always kept in context.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/preview/pane.py" />
            <source>Preview of {title}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/row_menu.py" />
            <source>Quick look</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/preview/pane.py" />
            <source>Quick look (Space)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/recall/dialog.py" />
            <source>Reading…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/preview/pane.py" />
            <source>Recall</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/cache/row_menu.py" />
            <source>Recall %n entries into message</source>
            <translation>
                <numerusform>Recall %n entry into message</numerusform>
                <numerusform>Recall %n entries into message</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/cache/row_menu.py" />
            <source>Recall %n entries into message · ≈ {tokens} tokens</source>
            <translation>
                <numerusform>Recall %n entry into message · ≈ {tokens} tokens</numerusform>
                <numerusform>Recall %n entries into message · ≈ {tokens} tokens</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/row_menu.py" />
            <source>Recall a part…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/preview/pane.py" />
            <source>Recall a part… (R)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/preview/pane.py" />
            <location filename="../../helix_desktop/ui/cache/recall/dialog.py" />
            <location filename="../../helix_desktop/ui/cache/row_menu.py" />
            <source>Recall into message</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/preview/pane.py" />
            <source>Recall line {line}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/preview/pane.py" />
            <source>Recall lines {first}–{last}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/row_menu.py" />
            <source>Recall whole output</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/columns.py" />
            <source>Recalls</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/view.py" />
            <source>Refresh</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/columns.py" />
            <source>Refs</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/recall/dialog.py" />
            <source>Regular expression</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/recall/dialog.py" />
            <source>Regular expression, such as error|failed</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/row_menu.py" />
            <source>Remove a secret…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/filter_bar.py" />
            <source>Remove filter</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/state_labels.py" />
            <source>Removed</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/state_labels.py" />
            <source>Removed to fit the context window. The agent can recall it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/saved_filters.py" />
            <location filename="../../helix_desktop/ui/workspaces/cache_filters.py" />
            <source>Rename</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/cache_filters.py" />
            <source>Rename filter</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/state_labels.py" />
            <source>Replaced by a handover. The agent can recall it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/state_labels.py" />
            <source>Replaced by a marker. The agent can recall it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/state_labels.py" />
            <source>Replaced by a note. The agent can recall it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/row_menu.py" />
            <source>Restore</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/view.py" />
            <source>Retry</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/columns.py" />
            <source>SHA-256</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/cache_filters.py" />
            <source>Save</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/row_menu.py" />
            <source>Save as zip…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/preview/pane.py" />
            <location filename="../../helix_desktop/ui/cache/row_menu.py" />
            <source>Save as…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/presenter.py" />
            <source>Save cached output</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/cache_export.py" />
            <source>Save cached outputs as a zip</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/cache_export.py" />
            <source>Save cached outputs to a folder</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/cache_filters.py" />
            <source>Save filter</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/preview/pane.py" />
            <source>Save the exact bytes to a file (Ctrl+S)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/saved_filters.py" />
            <source>Save this filter…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/row_menu.py" />
            <source>Save to folder…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/columns.py" />
            <source>Saved</source>
            <comment>tokens: column</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/presenter.py" />
            <source>Saved as {file}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/filter_bar.py" />
            <location filename="../../helix_desktop/ui/cache/saved_filters.py" />
            <source>Saved filters</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/workspaces/cache_export.py" />
            <source>Saving %n entries</source>
            <translation>
                <numerusform>Saving %n entry</numerusform>
                <numerusform>Saving %n entries</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/cache_export.py" />
            <source>Saving canceled.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/filter_bar.py" />
            <source>Search contents, files, tools or a digest</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/recall/dialog.py" />
            <source>Searching…</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/cache/view.py" />
            <source>Searching… %n matches so far</source>
            <translation>
                <numerusform>Searching… %n match so far</numerusform>
                <numerusform>Searching… %n matches so far</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/preview/pane.py" />
            <source>Select an entry to preview it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/row_menu.py" />
            <source>Selected entries</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/filter_options.py" />
            <source>Session</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/filter_options.py" />
            <source>Session: {session}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/cache_export.py" />
            <source>Show folder</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/row_menu.py" />
            <source>Show in chat</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/handover_hits.py" />
            <location filename="../../helix_desktop/ui/cache/row_menu.py" />
            <source>Show in timeline</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/row_menu.py" />
            <source>Show only target {target}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/row_menu.py" />
            <source>Show only tool {tool}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/view.py" />
            <source>Show trash</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/columns.py" />
            <location filename="../../helix_desktop/ui/cache/filter_options.py" />
            <source>Size</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/filter_bar.py" />
            <source>Sort by</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/columns.py" />
            <location filename="../../helix_desktop/ui/cache/filter_options.py" />
            <source>State</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/filter_options.py" />
            <source>State: {state}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/state_labels.py" />
            <source>Stored</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/state_labels.py" />
            <source>Summarized</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/columns.py" />
            <source>Target</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/filter_options.py" />
            <source>Target: {target}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/preview/entry_content.py" />
            <source>Text</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/state_labels.py" />
            <source>The model sees a preview or an extract.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/state_labels.py" />
            <source>The model sees all of it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/presenter.py" />
            <source>Their bytes match their SHA-256.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/presenter.py" />
            <source>Their bytes no longer match their SHA-256.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/recall/part.py" />
            <source>These lines can't be read.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/filter_bar.py" />
            <source>This session</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/columns.py" />
            <source>Tokens</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/columns.py" />
            <source>Tokens saved in the context window</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/preview/entry_content.py" />
            <source>Too large for a tree (over {size}).</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/columns.py" />
            <location filename="../../helix_desktop/ui/cache/filter_options.py" />
            <source>Tool</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/filter_options.py" />
            <source>Tool: {tool}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/preview/entry_content.py" />
            <source>Tree</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/cache_filters.py" />
            <source>Undo</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/row_menu.py" />
            <source>Unpin</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/filter_options.py" />
            <source>Unreferenced</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/filter_bar.py" />
            <source>Used by this session</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/preview/pane.py" />
            <location filename="../../helix_desktop/ui/cache/row_menu.py" />
            <source>Verify</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/view.py" />
            <source>Verify all entries</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/cache/filter_bar.py" />
            <source>Verifying {done} of %n entries</source>
            <translation>
                <numerusform>Verifying {done} of %n entry</numerusform>
                <numerusform>Verifying {done} of %n entries</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/preview/entry_content.py" />
            <source>View</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/recall/dialog.py" />
            <source>What is recalled</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/recall/dialog.py" />
            <source>What to recall</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/columns.py" />
            <source>Where the content is now</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/recall/part.py" />
            <source>Write lines such as {example}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/recall/dialog.py" />
            <source>Write what the lines have in common.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/state_labels.py" />
            <source>You can restore it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/source.py" />
            <source>matches name</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/preview/pane.py" />
            <source>pinned</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/cache/preview/pane.py" />
            <source>recalled %n times</source>
            <translation>
                <numerusform>recalled once</numerusform>
                <numerusform>recalled %n times</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/recall.py" />
            <source>{lines} in {some} of {all} entries</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/cache/filter_bar.py" />
            <source>{listed} of %n entries</source>
            <translation>
                <numerusform>{listed} of %n entry</numerusform>
                <numerusform>{listed} of %n entries</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/filter_bar.py" />
            <source>{listed} of {total}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/filter_bar.py" />
            <source>{size} ({stored} on disk)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/filter_options.py" />
            <source>{size} or more</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/cache_export.py" />
            <source>{size}. The file index.json lists what they are.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/preview/pane.py" />
            <source>{tokens} tokens</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cache/preview/pane.py" />
            <location filename="../../helix_desktop/ui/session/recall.py" />
            <source>≈ {tokens} tokens</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Changes</name>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/changes/reverts/merge_dialog.py" />
            <source>%n conflicts left</source>
            <translation>
                <numerusform>%n conflict left</numerusform>
                <numerusform>%n conflicts left</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/changes/reverts/merge_dialog.py" />
            <source>%n differences, no conflict left</source>
            <translation>
                <numerusform>%n difference, no conflict left</numerusform>
                <numerusform>%n differences, no conflict left</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/changes/texts.py" />
            <location filename="../../helix_desktop/words/file_changes.py" />
            <source>%n files</source>
            <translation>
                <numerusform>%n file</numerusform>
                <numerusform>%n files</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/changes/reverts/plan_texts.py" />
            <source>%n files are ready.</source>
            <translation>
                <numerusform>%n file is ready.</numerusform>
                <numerusform>%n files are ready.</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/changes/reverts/plan_texts.py" />
            <source>%n files can't be reverted.</source>
            <translation>
                <numerusform>%n file can't be reverted.</numerusform>
                <numerusform>%n files can't be reverted.</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/file_changes.py" />
            <source>%n files can't be undone</source>
            <translation>
                <numerusform>%n file can't be undone</numerusform>
                <numerusform>%n files can't be undone</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/file_changes.py" />
            <source>%n files changed</source>
            <translation>
                <numerusform>%n file changed</numerusform>
                <numerusform>%n files changed</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/file_history/revert/refusals.py" />
            <source>%n files changed in the meantime, {file} among them.</source>
            <translation>
                <numerusform>{file} changed in the meantime.</numerusform>
                <numerusform>%n files changed in the meantime, {file} among them.</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/file_changes.py" />
            <source>%n files changed outside the agent</source>
            <translation>
                <numerusform>%n file changed outside the agent</numerusform>
                <numerusform>%n files changed outside the agent</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/changes/texts.py" />
            <source>%n files covered</source>
            <translation>
                <numerusform>%n file covered</numerusform>
                <numerusform>%n files covered</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/changes/reverts/rewind_dialog.py" />
            <source>%n files go back.</source>
            <translation>
                <numerusform>%n file goes back.</numerusform>
                <numerusform>%n files go back.</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/changes/reverts/plan_texts.py" />
            <source>%n files redone.</source>
            <translation>
                <numerusform>%n file redone.</numerusform>
                <numerusform>%n files redone.</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/changes/reverts/plan_texts.py" />
            <source>%n files reverted.</source>
            <translation>
                <numerusform>%n file reverted.</numerusform>
                <numerusform>%n files reverted.</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/changes/reverts/plan_texts.py" />
            <source>%n files rewound.</source>
            <translation>
                <numerusform>%n file rewound.</numerusform>
                <numerusform>%n files rewound.</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/changes/reverts/plan_texts.py" />
            <source>%n files were changed since: choose what each becomes.</source>
            <translation>
                <numerusform>%n file was changed since: choose what it becomes.</numerusform>
                <numerusform>%n files were changed since: choose what each becomes.</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/changes/texts.py" />
            <location filename="../../helix_desktop/ui/design/diff/view.py" />
            <source>%n lines added</source>
            <translation>
                <numerusform>%n line added</numerusform>
                <numerusform>%n lines added</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/changes/texts.py" />
            <source>%n lines removed</source>
            <translation>
                <numerusform>%n line removed</numerusform>
                <numerusform>%n lines removed</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/design/diff/row_painting.py" />
            <source>%n more characters</source>
            <translation>
                <numerusform>%n more character</numerusform>
                <numerusform>%n more characters</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/changes/texts.py" />
            <source>%n places can't be undone</source>
            <translation>
                <numerusform>%n place can't be undone</numerusform>
                <numerusform>%n places can't be undone</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/design/diff/view.py" />
            <source>%n removed</source>
            <translation>
                <numerusform>%n removed</numerusform>
                <numerusform>%n removed</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/changes/detail.py" />
            <source>%n steps</source>
            <translation>
                <numerusform>%n step</numerusform>
                <numerusform>%n steps</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/changes/reverts/rewind_dialog.py" />
            <source>%n turns leave the conversation. The message returns to the message field.</source>
            <translation>
                <numerusform>%n turn leaves the conversation. The message returns to the message field.</numerusform>
                <numerusform>%n turns leave the conversation. The message returns to the message field.</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/design/diff/row_heads.py" />
            <location filename="../../helix_desktop/ui/design/diff/text_view.py" />
            <source>%n unchanged lines</source>
            <translation>
                <numerusform>%n unchanged line</numerusform>
                <numerusform>%n unchanged lines</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/file_history/storage.py" />
            <source>%n versions of files could be saved. Other earlier changes can't be undone any more.</source>
            <translation>
                <numerusform>%n version of a file could be saved. Other earlier changes can't be undone any more.</numerusform>
                <numerusform>%n versions of files could be saved. Other earlier changes can't be undone any more.</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/file_history/revert/targets.py" />
            <source>A command is running that may change {file}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/revert_plans.py" />
            <source>A command that may change it is running.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/file_history/database/redaction.py" />
            <source>A damaged copy of the file history can't be deleted; it may hold the removed text.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/revert_plans.py" />
            <source>A link leads out of the workspace.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/file_history/database/connection.py" />
            <source>A row of it holds something else than what was written.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/detail.py" />
            <location filename="../../helix_desktop/ui/changes/menus.py" />
            <source>Accept</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/menus.py" />
            <source>Accept all</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/texts.py" />
            <source>Accepted</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/diff/images.py" />
            <source>After</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/reverts/merge_dialog.py" />
            <source>After the change</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/file_diffs.py" />
            <source>After: {content}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/file_history/database/schema.py" />
            <source>Another Helix Desktop is opening or repairing it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/file_history/database/database.py" />
            <source>Another Helix Desktop is reading them.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/file_history/revert/reverts.py" />
            <source>Another Helix Desktop is reverting files of this workspace.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/file_history/database/connection.py" />
            <source>Another Helix Desktop is writing to it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/list_model.py" />
            <source>Another command ran at the same time and may have made this change.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/reverts/rewind_dialog.py" />
            <location filename="../../helix_desktop/ui/design/diff/images.py" />
            <source>Before</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/reverts/merge_dialog.py" />
            <source>Before the change</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/texts.py" />
            <source>Before the first message</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/file_diffs.py" />
            <source>Before: {content}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/file_coverage.py" />
            <source>Belongs to Helix Desktop</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/file_coverage.py" />
            <source>Belongs to git</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/file_diffs.py" />
            <source>Binary file.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/filter_bar.py" />
            <source>By file</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/filter_bar.py" />
            <source>By turn</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/file_coverage.py" />
            <source>Can't be read</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/revert_plans.py" />
            <source>Can't be reverted</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/file_coverage.py" />
            <source>Can't be undone in %n places: {names}</source>
            <translation>
                <numerusform>Can't be undone in %n place: {names}</numerusform>
                <numerusform>Can't be undone in %n places: {names}</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/words/file_coverage.py" />
            <source>Can't be undone in files that are not copied yet</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/list_model.py" />
            <source>Can't be undone: the previous content isn't stored.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/file_coverage.py" />
            <source>Can't be undone: {reason}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/reverts/merge_dialog.py" />
            <location filename="../../helix_desktop/ui/changes/reverts/plan_dialog.py" />
            <location filename="../../helix_desktop/ui/changes/reverts/rewind_dialog.py" />
            <source>Cancel</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/revert_plans.py" />
            <source>Changed since in other lines</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/revert_plans.py" />
            <source>Changed since, in conflict</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/change_list.py" />
            <location filename="../../helix_desktop/ui/design/diff/text_view.py" />
            <source>Changes</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/changes/workspace_changes.py" />
            <source>Changes can't be taken back in a folder that isn't trusted.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/places_dialog.py" />
            <source>Changes of these places aren't stored, so they can't be undone. What you include is copied now, in the background.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/diff/text_view.py" />
            <source>Changes of {path}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/file_history/database/connection.py" />
            <source>Check the disk and the permissions of the data folder, then reopen the workspace.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/file_history/revert/refusals.py" />
            <source>Check the disk and the permissions of the workspace, then close and reopen it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/file_history/database/connection.py" />
            <source>Check the disk and the permissions of {folder}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/changes/controller.py" />
            <source>Choose one in your file manager.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/view.py" />
            <source>Clear filter</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/places_dialog.py" />
            <source>Close</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/file_history/database/connection.py" />
            <source>Close and reopen the workspace to repair it. The damaged file is kept.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/file_history/database/connection.py" />
            <source>Close and reopen the workspace.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/texts.py" />
            <source>Commands</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/reverts/plan_view.py" />
            <source>Compare…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/file_diffs.py" />
            <source>Content not stored, so it can't be shown.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/reverts/rewind_dialog.py" />
            <source>Conversation only</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/detail.py" />
            <source>Copied</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/diff/text_view.py" />
            <source>Copy</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/menus.py" />
            <source>Copy all as patch</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/detail.py" />
            <location filename="../../helix_desktop/ui/changes/menus.py" />
            <source>Copy as patch</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/menus.py" />
            <source>Copy path</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/detail.py" />
            <source>Copy the diff for git apply (Ctrl+C)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/texts.py" />
            <source>Copying files stopped: {reason}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/texts.py" />
            <source>Copying files: {share}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/texts.py" />
            <source>Copying files…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/changes/controller.py" />
            <source>Couldn't open {file}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/file_diffs.py" />
            <source>Created: {content}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/diff/images.py" />
            <source>Damaged image</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/file_history/database/redaction.py" />
            <source>Delete {file} yourself.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/file_diffs.py" />
            <source>Deleted: {content}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/texts.py" />
            <source>During {command}</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/changes/texts.py" />
            <source>During {command} and %n others</source>
            <translation>
                <numerusform>During {command} and %n other</numerusform>
                <numerusform>During {command} and %n others</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/file_history/storage.py" />
            <source>Earlier changes can't be undone any more.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/texts.py" />
            <source>Edits</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/file_diffs.py" />
            <source>Empty file created.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/file_diffs.py" />
            <source>Empty file deleted.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/file_history/tree/rules.py" />
            <source>Enter a path such as build/output.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/places_dialog.py" />
            <source>Every file of the workspace is covered.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/reverts/plan_view.py" />
            <source>Files</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/reverts/rewind_dialog.py" />
            <source>Files and conversation</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/reverts/rewind_dialog.py" />
            <source>Files only</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/file_coverage.py" />
            <source>Files that are not copied yet</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/filter_bar.py" />
            <source>Filter by path</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/diff/view.py" />
            <source>Find (Ctrl+F)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/file_diffs.py" />
            <source>Folder</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/file_history/database/connection.py" />
            <location filename="../../helix_desktop/file_history/revert/refusals.py" />
            <source>Free some disk space, then try again.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/file_history/tree/rules.py" />
            <source>Git's own folder can't be covered.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/reverts/rewind_dialog.py" />
            <source>Go back to just before a message. Nothing is lost: the conversation continues as a branch, and the files can be put back.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/texts.py" />
            <source>Go to chat</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/filter_bar.py" />
            <source>Group by</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/file_coverage.py" />
            <source>Has other names (hard links)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/changes/workspace_changes.py" />
            <source>Hunks are those of one change of one file.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/file_coverage.py" />
            <source>Ignored by git, or a build folder</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/places_dialog.py" />
            <source>Include</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/places_dialog.py" />
            <source>Included</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/diff/view.py" />
            <source>Inline</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/revert_plans.py" />
            <source>It can't be changed now.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/file_history/database/contents.py" />
            <source>It contained a secret; the user removed it on {day}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/revert_plans.py" />
            <source>It has other names (hard links) that would change too.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/file_history/opened_history.py" />
            <source>It has over {count} files.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/file_history/database/database.py" />
            <source>It is removed when the workspace is opened next. Close its other windows before that.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/file_history/database/schema.py" />
            <source>It is the database of another program.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/file_history/database/contents.py" />
            <source>It was never stored, or a clean-up removed it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/file_history/database/connection.py" />
            <source>Its file was replaced by another one.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/revert_plans.py" />
            <source>Its folder is gone.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/changes/workspace_changes.py" />
            <source>Its folder is missing.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/revert_plans.py" />
            <source>Its folder is something else now.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/file_coverage.py" />
            <source>Its name isn't valid text</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/file_history/database/schema.py" />
            <source>Its version is {version}; this Helix Desktop reads up to {own}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/reverts/plan_texts.py" />
            <source>Keep current</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/diff/view.py" />
            <source>Layout</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/places_dialog.py" />
            <source>Leave out</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/diff/row_heads.py" />
            <source>Line {number}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/diff/text_view.py" />
            <source>Line {number} added: {text}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/diff/text_view.py" />
            <source>Line {number} removed: {text}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/diff/text_view.py" />
            <source>Line {number}: {text}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/diff/row_heads.py" />
            <source>Lines {first}–{last}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/file_diffs.py" />
            <source>Link to {target}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/file_history/revert/refusals.py" />
            <source>Look at the changes again, then revert.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/reverts/rewind_dialog.py" />
            <source>Looking at the files…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/detail.py" />
            <source>Mark this change as reviewed (A)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/file_coverage.py" />
            <source>May hold a secret: only its digest is stored</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/reverts/plan_texts.py" />
            <source>Merge both</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/reverts/merge_dialog.py" />
            <source>Merge {file}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/reverts/rewind_dialog.py" />
            <source>Message without text</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/detail.py" />
            <location filename="../../helix_desktop/ui/changes/filter_bar.py" />
            <source>More actions</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/list_model.py" />
            <source>Moved from {path}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/diff/view.py" />
            <source>Next change (F7)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/reverts/merge_dialog.py" />
            <source>Next difference (F7)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/view.py" />
            <source>No changes match this filter</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/file_diffs.py" />
            <source>No changes.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/reverts/rewind_dialog.py" />
            <source>No file goes back.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/reverts/rewind_dialog.py" />
            <source>No files changed since then.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/texts.py" />
            <source>No files changed yet. Files that the agent or its commands change appear here.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/changes/controller.py" />
            <source>No program is set up for this kind of file.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/file_history/opened_history.py" />
            <source>No version of a file in the file history has this digest.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/file_coverage.py" />
            <source>Not a regular file</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/file_coverage.py" />
            <source>Not copied yet</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/file_diffs.py" />
            <source>Nothing</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/texts.py" />
            <source>Nothing differs from the last commit.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/reverts/plan_texts.py" />
            <source>Nothing is lost: you can undo this.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/revert_plans.py" />
            <source>Nothing to do</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/changes/revert_flow.py" />
            <source>Nothing to revert.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/reverts/merge_dialog.py" />
            <source>Now</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/file_coverage.py" />
            <source>On another file system</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/reverts/plan_view.py" />
            <source>Only text can be merged.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/texts.py" />
            <source>Open</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/file_history/opened_history.py" />
            <source>Open a folder in it as a workspace, or list large folders in .gitignore.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/detail.py" />
            <location filename="../../helix_desktop/ui/changes/menus.py" />
            <source>Open in editor</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/detail.py" />
            <source>Open the file in its default program (O)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/file_history/database/connection.py" />
            <source>Open the workspace again.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/file_coverage.py" />
            <source>Over the size limit</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/reverts/plan_texts.py" />
            <source>Part of a file reverted.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/detail.py" />
            <source>Patch copied</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/file_diffs.py" />
            <source>Permissions: {before} → {after}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/places_dialog.py" />
            <source>Places</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/diff/view.py" />
            <source>Previous change (Shift+F7)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/reverts/merge_dialog.py" />
            <source>Previous difference (Shift+F7)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/changes/workspace_changes.py" />
            <source>Put the folder back, or open the workspace at its new place.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/revert_plans.py" />
            <source>Ready</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/file_changes.py" />
            <source>Redid changes: {files}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/detail.py" />
            <location filename="../../helix_desktop/ui/changes/menus.py" />
            <location filename="../../helix_desktop/ui/changes/texts.py" />
            <source>Redo</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/changes/reverts/plan_texts.py" />
            <source>Redo %n files</source>
            <translation>
                <numerusform>Redo %n file</numerusform>
                <numerusform>Redo %n files</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/reverts/plan_texts.py" />
            <source>Redo changes</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/diff/row_heads.py" />
            <source>Removed line {number}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/diff/row_heads.py" />
            <source>Removed lines {first}–{last}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/file_history/database/database.py" />
            <source>Removed text may still be in the files of the file history.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/reverts/plan_texts.py" />
            <source>Restore previous</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/detail.py" />
            <source>Restore what was there before (R)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/reverts/merge_result.py" />
            <source>Result</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/detail.py" />
            <location filename="../../helix_desktop/ui/changes/menus.py" />
            <location filename="../../helix_desktop/ui/changes/texts.py" />
            <location filename="../../helix_desktop/ui/design/diff/row_heads.py" />
            <source>Revert</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/changes/reverts/plan_texts.py" />
            <source>Revert %n files</source>
            <translation>
                <numerusform>Revert %n file</numerusform>
                <numerusform>Revert %n files</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/diff/row_heads.py" />
            <source>Revert change {number}, {lines}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/reverts/plan_texts.py" />
            <source>Revert changes</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/menus.py" />
            <source>Revert everything in this session</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/diff/row_heads.py" />
            <location filename="../../helix_desktop/ui/design/diff/text_view.py" />
            <source>Revert this change</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/menus.py" />
            <source>Revert this step ({files})</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/menus.py" />
            <source>Revert this turn ({files})</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/texts.py" />
            <source>Reverted</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/file_changes.py" />
            <source>Reverted part of {files}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/file_changes.py" />
            <source>Reverted the session's changes: {files}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/file_changes.py" />
            <source>Reverted turn {turn}: {files}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/file_changes.py" />
            <source>Reverted {files}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/texts.py" />
            <source>Reverts</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/reverts/rewind_dialog.py" />
            <location filename="../../helix_desktop/ui/changes/texts.py" />
            <source>Rewind</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/file_changes.py" />
            <source>Rewound files: {files}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/detail.py" />
            <source>Select a file to see its changes.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/diff/text_view.py" />
            <source>Select all</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/filter_bar.py" />
            <source>Session</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/reverts/plan_view.py" />
            <source>Show all versions side by side and merge them yourself</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/menus.py" />
            <source>Show in chat</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/diff/row_heads.py" />
            <source>Show unchanged lines</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/diff/view.py" />
            <source>Side by side</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/filter_bar.py" />
            <source>Since last commit</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/texts.py" />
            <source>Since the last commit</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/rewind.py" />
            <source>Stop it, then rewind.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/file_history/database/schema.py" />
            <source>Tables are missing.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/changes/workspace_changes.py" />
            <source>Take back the whole change of the file.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/changes/workspace_changes.py" />
            <source>That part of {file} can't be taken back alone.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/rewind.py" />
            <source>The agent is working.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/changes/recorder.py" />
            <source>The agent works on as before.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/file_history/database/connection.py" />
            <source>The change can't be stored in the file history.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/changes/workspace_changes.py" />
            <source>The change of that file has no such part of text.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/file_history/storage.py" />
            <source>The damaged file is {file}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/file_history/database/connection.py" />
            <location filename="../../helix_desktop/file_history/revert/refusals.py" />
            <source>The disk is full.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/file_history/database/connection.py" />
            <source>The file history can't be read.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/file_history/database/connection.py" />
            <source>The file history is closed.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/file_history/database/connection.py" />
            <source>The file history is damaged.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/file_history/history.py" />
            <source>The file history of this workspace is closed.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/file_history/storage.py" />
            <source>The file history was damaged, and a new one began.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/file_history/database/schema.py" />
            <source>The file history was written by a newer Helix Desktop.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/file_coverage.py" />
            <source>The file history's limit is reached</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/reverts/merge_dialog.py" />
            <source>The file was changed since. Choose for each difference, or edit the result below. Nothing is written until you revert.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/changes/revert_flow.py" />
            <source>The files are already as they were before.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/file_history/revert/refusals.py" />
            <source>The files can't be reverted, and some of them couldn't be put back yet.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/file_history/revert/refusals.py" />
            <source>The files can't be reverted. None of them was changed.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/revert_plans.py" />
            <source>The folder holds other files.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/texts.py" />
            <source>The folder of this workspace is missing. Its changes can't be read or undone.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/file_history/history.py" />
            <source>The list of changes can't be read.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/file_history/tree/rules.py" />
            <source>The place must be a path in this workspace (got {path}).</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/revert_plans.py" />
            <source>The previous content isn't stored.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/revert_plans.py" />
            <source>The previous content was removed from the file history.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/changes/workspace_changes.py" />
            <source>The session has no such change.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/file_history/opened_history.py" />
            <source>The workspace's files can't be looked at.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/file_history/revert/refusals.py" />
            <source>Their contents are safe in the file history.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/diff/view.py" />
            <source>There is only one side.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/revert_plans.py" />
            <source>There isn't enough disk space.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/texts.py" />
            <source>This folder isn't trusted, so the agent can't change files here.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/rewind.py" />
            <source>This session has no message to rewind to.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/file_history/database/contents.py" />
            <source>This version of the file is damaged on disk, and can't be restored.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/file_history/database/contents.py" />
            <source>This version of the file is not in the file history.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/changes/workspace_changes.py" />
            <source>This workspace has no file history.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/file_diffs.py" />
            <source>Too large to compare.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/diff/view.py" />
            <source>Too many changed lines to compare side by side.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/texts.py" />
            <source>Trust folder…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/changes/workspace_changes.py" />
            <source>Trust the folder first.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/file_history/database/connection.py" />
            <location filename="../../helix_desktop/file_history/database/schema.py" />
            <location filename="../../helix_desktop/file_history/revert/reverts.py" />
            <source>Try again in a moment.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/texts.py" />
            <source>Turn {number}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/changes/revert_flow.py" />
            <source>Undo</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/file_history/database/schema.py" />
            <source>Update Helix Desktop. Nothing was changed.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/reverts/merge_dialog.py" />
            <source>Use after</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/reverts/merge_dialog.py" />
            <source>Use before</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/reverts/merge_dialog.py" />
            <source>Use both</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/reverts/merge_dialog.py" />
            <source>Use now</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/reverts/merge_dialog.py" />
            <source>Use this result</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/file_history/revert/targets.py" />
            <source>Wait until it ends, or stop it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/places_dialog.py" />
            <source>What can't be undone</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/menus.py" />
            <source>What can't be undone…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/file_history/opened_history.py" />
            <source>What commands change is not recorded in this workspace.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/filter_bar.py" />
            <source>What is listed</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/changes/recorder.py" />
            <source>What the agent changes now can't be undone.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/reverts/plan_view.py" />
            <source>What {file} becomes</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/diff/view.py" />
            <source>Widen the window to compare side by side.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/texts.py" />
            <location filename="../../helix_desktop/ui/changes/view.py" />
            <source>Write a message</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/revert_plans.py" />
            <source>You don't have permission to change it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/texts.py" />
            <source>You or another program</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/texts.py" />
            <source>Your files are being copied, so that every change can be undone. Changes appear here as the agent works.</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/changes/reverts/plan_view.py" />
            <source>and %n more files</source>
            <translation>
                <numerusform>and %n more file</numerusform>
                <numerusform>and %n more files</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/changes/places_dialog.py" />
            <location filename="../../helix_desktop/words/file_coverage.py" />
            <source>and %n more places</source>
            <translation>
                <numerusform>and %n more place</numerusform>
                <numerusform>and %n more places</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/texts.py" />
            <source>as before</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/diff/text_view.py" />
            <source>blank</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/detail.py" />
            <location filename="../../helix_desktop/ui/changes/texts.py" />
            <source>can't be undone</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/texts.py" />
            <source>changed</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/list_model.py" />
            <source>collapsed</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/texts.py" />
            <location filename="../../helix_desktop/words/file_changes.py" />
            <source>created</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/texts.py" />
            <location filename="../../helix_desktop/words/file_changes.py" />
            <source>deleted</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/list_model.py" />
            <source>expanded</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/texts.py" />
            <source>folder</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/revert_plans.py" />
            <source>is created again</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/revert_plans.py" />
            <source>is deleted</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/revert_plans.py" />
            <source>is restored</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/texts.py" />
            <source>link</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/texts.py" />
            <source>moved</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/detail.py" />
            <location filename="../../helix_desktop/words/file_changes.py" />
            <source>moved from {path}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/diff/row_painting.py" />
            <source>no newline at end of file</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/texts.py" />
            <source>permissions changed</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/diff/view.py" />
            <source>{added}, {removed}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/file_diffs.py" />
            <source>{before} → {after}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/reverts/plan_view.py" />
            <source>{files}: {choice}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/file_history/revert/targets.py" />
            <source>{file} can't be reverted.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/file_changes.py" />
            <source>{file} changed</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/file_changes.py" />
            <source>{file} changed outside the agent</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/agent/changes/workspace_changes.py" />
            <source>{file} is not in that change.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/file_history/revert/targets.py" />
            <source>{file} isn't merged yet.</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/changes/texts.py" />
            <source>{first} and %n others</source>
            <translation>
                <numerusform>{first} and %n other</numerusform>
                <numerusform>{first} and %n others</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/file_history/revert/targets.py" />
            <source>{folder} isn't a folder, and {file} would be in it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/file_history/revert/targets.py" />
            <source>{folder} isn't empty: {name} is in it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/filter_bar.py" />
            <source>{kind} {count}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/file_coverage.py" />
            <source>{names} …</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/diff/text_view.py" />
            <source>{removed}; {added}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/file_diffs.py" />
            <source>{size}, SHA-256 {digest}…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/diff/images.py" />
            <source>{title}: {content}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/changes/places_dialog.py" />
            <source>{verb}: {path}</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Chat</name>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/chat/items/tool_body.py" />
            <location filename="../../helix_desktop/ui/chat/items/tool_card.py" />
            <source>%n lines</source>
            <translation>
                <numerusform>%n line</numerusform>
                <numerusform>%n lines</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/chat/rows/subagent_status.py" />
            <source>%n model calls</source>
            <translation>
                <numerusform>%n model call</numerusform>
                <numerusform>%n model calls</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/chat/viewport/new_rows_button.py" />
            <source>%n new</source>
            <translation>
                <numerusform>%n new</numerusform>
                <numerusform>%n new</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/questions/question_card.py" />
            <source>1–{count}</source>
            <comment>number keys</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/approval.py" />
            <source>Allow for this session</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/approval.py" />
            <source>Allow once</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/approval.py" />
            <source>Always allow in workspace</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/questions/question_card.py" />
            <source>Answer</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/message_actions.py" />
            <source>Answer again. This answer stays as a version.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/row_texts.py" />
            <source>Answer finished</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/approval.py" />
            <source>Answers for the session or workspace save the selected rule:</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/approval.py" />
            <source>Answers for the session or workspace save this rule:</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/row_texts.py" />
            <source>Approval needed by subagent {subagent}, sandboxed: {call}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/row_texts.py" />
            <source>Approval needed by subagent {subagent}: {call}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/row_texts.py" />
            <source>Approval needed, sandboxed: {call}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/row_texts.py" />
            <source>Approval needed: {call}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/approval.py" />
            <source>Approval required by rule: {rule}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/message_painting.py" />
            <location filename="../../helix_desktop/ui/chat/rows/row_texts.py" />
            <source>Assistant</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/user_message.py" />
            <source>Attached: {name}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/turn_ends.py" />
            <source>Attempt {number} failed</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/turn_ends.py" />
            <source>Attempt {number} finished</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/turn_ends.py" />
            <source>Attempt {number} interrupted</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/turn_ends.py" />
            <source>Attempt {number} stopped</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/page.py" />
            <source>Back to now</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/message_actions.py" />
            <source>Branch</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/dividers.py" />
            <source>Branch begins here</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/viewport/tool_menu.py" />
            <source>Branch from here</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/changed_files.py" />
            <source>Changed: {files}, {added} {removed}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/from_events.py" />
            <source>Choose another effort in the model menu, or leave it to the provider.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/dividers_and_notices.py" />
            <source>Click to learn more</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/page.py" />
            <source>Close (Esc)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/message_actions.py" />
            <source>Continue from here in a new session, as a branch.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/viewport/view.py" />
            <source>Conversation</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/text_and_code_blocks.py" />
            <source>Copied</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/text_and_code_blocks.py" />
            <location filename="../../helix_desktop/ui/chat/viewport/view.py" />
            <source>Copy</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/text_and_code_blocks.py" />
            <source>Copy code, {language}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/viewport/view.py" />
            <source>Copy link</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/viewport/view.py" />
            <source>Copy message</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/tool_body.py" />
            <source>Cost: {cost}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/excerpts.py" />
            <source>Couldn't read the image.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/tool_body.py" />
            <source>Couldn't read the original.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/approval.py" />
            <source>Deny</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/approval.py" />
            <source>Deny with reason…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/row_texts.py" />
            <source>Divider: {text}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/subagent_status.py" />
            <source>Done</source>
            <comment>end of a subagent</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/todo.py" />
            <source>Done: {item}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/message_actions.py" />
            <source>Edit and send again. The original stays as a version.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/message_actions.py" />
            <location filename="../../helix_desktop/ui/chat/viewport/tool_menu.py" />
            <source>Edit message</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/page.py" />
            <source>Enter API key…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/row_texts.py" />
            <source>Error: {text}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/tool_body.py" />
            <source>Extract sent to the agent</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/subagent_status.py" />
            <source>Failed</source>
            <comment>end of a subagent</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/page.py" />
            <source>Find in this session</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/user_message.py" />
            <source>From {prompt}</source>
            <comment>a prompt file</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/tool_body.py" />
            <source>Full output</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/message_actions.py" />
            <source>Go back to before this message: files, conversation or both.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/changed_files.py" />
            <source>Hide changes of {call}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/dividers_and_notices.py" />
            <source>Hide details</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/tool_card.py" />
            <source>Hide output of {call}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/todo.py" />
            <source>Hide to-do list, {progress}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/excerpt_card.py" />
            <source>Hide {title}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/todo.py" />
            <source>In progress: {item}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/row_texts.py" />
            <source>Information: {text}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/tool_body.py" />
            <source>Instructions: “{instructions}”.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/subagent_status.py" />
            <source>Interrupted</source>
            <comment>end of a subagent</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/turn_ends.py" />
            <source>Interrupted: Helix closed during this turn</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/viewport/new_rows_button.py" />
            <source>Latest</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/viewport/accessibility.py" />
            <source>Messages</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/tool_card.py" />
            <source>More actions</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/tool_card.py" />
            <source>More actions for {call}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/changed_files.py" />
            <source>More lines are in Changes.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/approval.py" />
            <source>Never allow in workspace</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/page.py" />
            <source>Next result (F3)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/message_actions.py" />
            <source>Next version</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/page.py" />
            <source>No results</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/approval.py" />
            <source>Not sandboxed</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/subagent_strip.py" />
            <source>Open</source>
            <comment>verb: button</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/viewport/tool_menu.py" />
            <source>Open cached argument</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/viewport/tool_menu.py" />
            <source>Open cached argument {number}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/changed_files.py" />
            <source>Open in Changes</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/excerpt_card.py" />
            <location filename="../../helix_desktop/ui/chat/items/tool_body.py" />
            <location filename="../../helix_desktop/ui/chat/viewport/tool_menu.py" />
            <source>Open in cache</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/tool_card.py" />
            <source>Open in cache: {output}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/viewport/tool_menu.py" />
            <source>Open subagent session</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/subagent_strip.py" />
            <source>Open subagent session: {task}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/changed_files.py" />
            <source>Open {file} in Changes</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/user_message.py" />
            <source>Open {name}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/questions/question_card.py" />
            <source>Or answer in your own words…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/subagent_strip.py" />
            <source>Or double-click the card</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/tool_body.py" />
            <source>Original output</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/viewport/tool_menu.py" />
            <source>Pin in context</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/tool_body.py" />
            <source>Pinned: always kept in context.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/tool_body.py" />
            <source>Preview instead of the requested extract.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/tool_body.py" />
            <source>Preview sent to the agent</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/tool_body.py" />
            <source>Preview: over the size limit.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/page.py" />
            <source>Previous result (Shift+F3)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/message_actions.py" />
            <source>Previous version</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/questions/answered_question.py" />
            <source>Question</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/row_texts.py" />
            <source>Question of subagent {subagent}: {question}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/row_texts.py" />
            <source>Question, {state}: {question}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/row_texts.py" />
            <source>Question: {question}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/subagent_status.py" />
            <source>Queued</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/turn_ends.py" />
            <source>Raise the budget to continue.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/excerpt_card.py" />
            <source>Reading from the cache…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/changed_files.py" />
            <source>Reading the changes…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/tool_body.py" />
            <source>Reading the original from the cache…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/viewport/tool_menu.py" />
            <source>Recall into message</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/tool_body.py" />
            <source>Removed to fit the context window. The agent can recall it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/tool_body.py" />
            <source>Replaced by a handover. The agent can recall it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/tool_body.py" />
            <source>Replaced by a marker. The agent can recall it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/tool_body.py" />
            <source>Replaced by a note. The agent can recall it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/tool_body.py" />
            <source>Replaced by observations. The agent can recall it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/message_actions.py" />
            <source>Retry</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/viewport/tool_menu.py" />
            <source>Retry this turn</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/presenter.py" />
            <source>Retrying in {seconds} s (attempt {attempt})</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/presenter.py" />
            <source>Retrying now (attempt {attempt})</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/message_actions.py" />
            <source>Rewind to here</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/viewport/tool_menu.py" />
            <source>Rewind to here…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/approval.py" />
            <source>Rule: {rule}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/approval.py" />
            <source>Rule: {rule}, selected</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/approval.py" />
            <source>Sandboxed</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/viewport/view.py" />
            <source>Select all</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/page.py" />
            <source>Send</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/viewport/tool_menu.py" />
            <source>Send extract…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/viewport/tool_menu.py" />
            <source>Send full output</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/viewport/tool_menu.py" />
            <source>Send preview</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/chat/items/approval.py" />
            <source>Show %n more lines</source>
            <translation>
                <numerusform>Show %n more line</numerusform>
                <numerusform>Show %n more lines</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/chat/items/user_message.py" />
            <source>Show all %n characters</source>
            <translation>
                <numerusform>Show %n character</numerusform>
                <numerusform>Show all %n characters</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/chat/items/changed_files.py" />
            <location filename="../../helix_desktop/ui/chat/items/excerpt_card.py" />
            <location filename="../../helix_desktop/ui/chat/items/tool_body.py" />
            <location filename="../../helix_desktop/ui/chat/items/user_message.py" />
            <source>Show all %n lines</source>
            <translation>
                <numerusform>Show %n line</numerusform>
                <numerusform>Show all %n lines</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/changed_files.py" />
            <source>Show changes of {call}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/dividers_and_notices.py" />
            <source>Show details</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/viewport/tool_menu.py" />
            <source>Show in timeline</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/user_message.py" />
            <source>Show less</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/tool_card.py" />
            <source>Show output of {call}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/todo.py" />
            <source>Show to-do list, {progress}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/excerpt_card.py" />
            <source>Show {title}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/row_texts.py" />
            <source>Shown by the agent</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/user_message.py" />
            <source>Side question: not in context</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/questions/question_card.py" />
            <source>Skip</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/page.py" />
            <source>Start a conversation. The agent asks before it edits files or runs commands.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/user_message.py" />
            <source>Steered this turn</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/running_strip.py" />
            <source>Stop</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/running_strip.py" />
            <source>Stop this tool call. The agent continues with its output so far.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/running_strip.py" />
            <source>Stop {call}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/turn_ends.py" />
            <source>Stopped</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/subagent_status.py" />
            <source>Stopped</source>
            <comment>end of a subagent</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/approval.py" />
            <location filename="../../helix_desktop/ui/chat/questions/question_card.py" />
            <source>Subagent: {title}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/page.py" />
            <source>Suggested next: {message}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/tool_body.py" />
            <source>The agent chose this form.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/questions/question_card.py" />
            <source>The agent has a question</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/tool_body.py" />
            <source>The arguments of this call were replaced by markers.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/instructions.py" />
            <source>The beginning of {file} sent to the agent · {tokens} tokens</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/from_events.py" />
            <source>The session budget is almost used up.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/questions/question_card.py" />
            <source>The turn ended before you answered</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/from_events.py" />
            <source>The turn stops when the budget runs out.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/subagent_status.py" />
            <source>Thinking</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/chat/items/thinking.py" />
            <source>Thinking · %n words</source>
            <translation>
                <numerusform>Thinking · %n word</numerusform>
                <numerusform>Thinking · %n words</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/thinking.py" />
            <source>Thinking…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/tool_rows.py" />
            <source>This model answers slowly: it had {seconds} s to choose.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/todo.py" />
            <source>To do</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/todo.py" />
            <source>To do: {item}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/row_texts.py" />
            <source>To do: {progress}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/row_texts.py" />
            <source>Tool {call}: {states}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/viewport/tool_menu.py" />
            <source>Unpin</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/message_actions.py" />
            <source>Version {place} of {count}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/subagent_status.py" />
            <source>Waiting for you</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/row_texts.py" />
            <source>Warning: {text}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/dividers_and_notices.py" />
            <source>What is this?</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/subagent_status.py" />
            <source>Working</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/page.py" />
            <source>Write a message</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/questions/question_card.py" />
            <source>Write your answer…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/row_texts.py" />
            <source>You</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/tool_body.py" />
            <source>You chose this form.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/row_texts.py" />
            <source>You, side question</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/row_texts.py" />
            <source>You, steering</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/instructions.py" />
            <source>Your instructions</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/markdown/parser.py" />
            <source>[image without description]</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/markdown/parser.py" />
            <source>[image: {description}]</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/row_texts.py" />
            <source>answered</source>
            <comment>a question</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/tool_card.py" />
            <location filename="../../helix_desktop/ui/chat/rows/row_texts.py" />
            <source>arguments cached</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/row_texts.py" />
            <source>cached</source>
            <comment>state of an output</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/side_questions.py" />
            <source>canceled</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/tool_card.py" />
            <source>changed since</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/tool_card.py" />
            <location filename="../../helix_desktop/ui/chat/rows/row_texts.py" />
            <source>choosing how to keep it</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/row_texts.py" />
            <source>denied</source>
            <comment>state of a tool call</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/row_texts.py" />
            <source>done</source>
            <comment>state of a tool call</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/tool_card.py" />
            <source>exit code {code}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/row_texts.py" />
            <source>extract</source>
            <comment>form of an output</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/row_texts.py" />
            <source>failed</source>
            <comment>state of a tool call</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/row_texts.py" />
            <source>in context</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/row_texts.py" />
            <source>interrupted</source>
            <comment>state of a tool call</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/row_texts.py" />
            <source>needs approval</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/row_texts.py" />
            <source>needs your answer</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/running_strip.py" />
            <source>no output yet</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/row_texts.py" />
            <source>no user there</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/row_texts.py" />
            <source>not answered</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/side_questions.py" />
            <source>not in context</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/row_texts.py" />
            <source>noted</source>
            <comment>state of an output</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/message_painting.py" />
            <source>offline demo</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/row_texts.py" />
            <source>pinned</source>
            <comment>state of an output</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/row_texts.py" />
            <source>preview</source>
            <comment>form of an output</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/row_texts.py" />
            <source>recalled</source>
            <comment>state of an output</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/row_texts.py" />
            <source>removed</source>
            <comment>state of an output</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/row_texts.py" />
            <source>running</source>
            <comment>state of a tool call</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/row_texts.py" />
            <source>skipped</source>
            <comment>a question</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/row_texts.py" />
            <source>stopped</source>
            <comment>state of a tool call</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/row_texts.py" />
            <source>subagent: {state}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/row_texts.py" />
            <source>summarized</source>
            <comment>state of an output</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/text_and_code_blocks.py" />
            <source>text</source>
            <comment>code block without a language</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/row_texts.py" />
            <source>undone</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/row_texts.py" />
            <source>waiting</source>
            <comment>state of a tool call</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/row_texts.py" />
            <source>{done} of {total} done</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/instructions.py" />
            <source>{file} changed: sent to the agent · {tokens} tokens</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/instructions.py" />
            <source>{file} sent to the agent · {tokens} tokens</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/instructions.py" />
            <source>{file} was deleted: the agent was told</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/instructions.py" />
            <source>{file} was not sent to the agent</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/questions/question_card.py" />
            <source>{keys} to answer</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/questions/question_card.py" />
            <source>{keys} to check, Enter to answer</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/viewport/new_rows_button.py" />
            <source>{label}: go to the end of the conversation</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/row_texts.py" />
            <source>{model}, writing</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/row_texts.py" />
            <source>{model}, {note}</source>
            <comment>a side answer</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/page.py" />
            <source>{number}+</source>
            <comment>more than a number</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/row_texts.py" />
            <source>{output}, lines {first}–{last}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/page.py" />
            <location filename="../../helix_desktop/ui/chat/questions/ask_rows.py" />
            <source>{place} of {total}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/subagent_status.py" />
            <source>{share} of context</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/row_texts.py" />
            <source>{title}: {output}</source>
            <comment>an output that the agent shows</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/tool_body.py" />
            <location filename="../../helix_desktop/ui/chat/items/tool_card.py" />
            <location filename="../../helix_desktop/ui/chat/rows/tool_rows.py" />
            <source>{tokens} tokens</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/tool_rows.py" />
            <source>{tokens} tokens ({cached} from the provider cache)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/tool_card.py" />
            <source>{tokens} tokens sent</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/subagent_status.py" />
            <source>{tokens} tokens used</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/items/approval.py" />
            <source>{tool} needs your approval</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/from_events.py" />
            <source>{used} of {budget}</source>
            <comment>money used of a budget</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/rows/from_events.py" />
            <source>{used} of {budget} tokens</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/chat/items/changed_files.py" />
            <source>… %n more files</source>
            <translation>
                <numerusform>… %n more file</numerusform>
                <numerusform>… %n more files</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/chat/items/changed_files.py" />
            <location filename="../../helix_desktop/ui/chat/items/excerpt_card.py" />
            <location filename="../../helix_desktop/ui/chat/items/tool_body.py" />
            <source>… %n more lines</source>
            <translation>
                <numerusform>… %n more line</numerusform>
                <numerusform>… %n more lines</numerusform>
            </translation>
        </message>
    </context>
    <context>
        <name>Clean up</name>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/cleanup/dialog.py" />
            <source>%n entries can be removed: {size} on disk</source>
            <translation>
                <numerusform>%n entry can be removed: {size} on disk</numerusform>
                <numerusform>%n entries can be removed: {size} on disk</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/cleanup/trash_dialog.py" />
            <source>%n outputs</source>
            <translation>
                <numerusform>%n output</numerusform>
                <numerusform>%n outputs</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/cleanup/trash_dialog.py" />
            <source>%n sessions</source>
            <translation>
                <numerusform>%n session</numerusform>
                <numerusform>%n sessions</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cleanup/dialog.py" />
            <source>Age</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cleanup/trash_dialog.py" />
            <source>All items are deleted permanently. This can't be undone.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cleanup/dialog.py" />
            <source>Any age</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cleanup/dialog.py" />
            <source>Cancel</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cleanup/dialog.py" />
            <source>Clean up</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cleanup/dialog.py" />
            <source>Clean up automatically when this workspace opens</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cleanup/trash_dialog.py" />
            <source>Close</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cleanup/trash_dialog.py" />
            <source>Delete all permanently</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cleanup/trash_dialog.py" />
            <source>Empty trash</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cleanup/dialog.py" />
            <source>Entries to move to the trash</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cleanup/trash_dialog.py" />
            <source>Items here can still be read and recalled. After {days} days they are deleted permanently. Storing or recalling an output restores it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cleanup/trash_dialog.py" />
            <source>Items in the trash</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cleanup/dialog.py" />
            <source>Maximum size</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cleanup/dialog.py" />
            <source>Move to trash</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cleanup/dialog.py" />
            <source>Moves unused outputs to the trash. Outputs that a session uses, pinned outputs and outputs used in the last 24 hours are kept.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cleanup/dialog.py" />
            <source>No limit</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cleanup/dialog.py" />
            <source>No limit: remove everything unused</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cleanup/dialog.py" />
            <source>Not used for 3 months</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cleanup/dialog.py" />
            <source>Not used for a month</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cleanup/dialog.py" />
            <source>Not used for a week</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cleanup/dialog.py" />
            <source>Not used for a year</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cleanup/dialog.py" />
            <source>Nothing to clean up</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cleanup/dialog.py" />
            <source>Remove previous versions</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cleanup/trash_dialog.py" />
            <source>Restore</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cleanup/trash_dialog.py" />
            <source>Session “{title}”</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cleanup/trash_dialog.py" />
            <source>The trash is empty.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cleanup/trash_dialog.py" />
            <source>Trash</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cleanup/dialog.py" />
            <source>Trash…</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/cleanup/dialog.py" />
            <source>and %n more</source>
            <comment>entries</comment>
            <translation>
                <numerusform>and %n more</numerusform>
                <numerusform>and %n more</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cleanup/trash_dialog.py" />
            <source>deleted {date}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cleanup/trash_dialog.py" />
            <source>in the trash since {date}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cleanup/dialog.py" />
            <source>{number} GB</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cleanup/dialog.py" />
            <source>{number} MB</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/cleanup/trash_dialog.py" />
            <source>{size} on disk</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Command line</name>
        <message numerus="yes">
            <location filename="../../helix_desktop/cli/sessions.py" />
            <source>%n archived sessions (see --archived)</source>
            <translation>
                <numerusform>%n archived session (see --archived)</numerusform>
                <numerusform>%n archived sessions (see --archived)</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/cli/cache/list.py" />
            <source>%n damaged entries</source>
            <translation>
                <numerusform>%n damaged entry</numerusform>
                <numerusform>%n damaged entries</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/cli/cache/cleanup.py" />
            <source>%n damaged entries can't be searched. Repair the store first.</source>
            <translation>
                <numerusform>%n damaged entry can't be searched. Repair the store first.</numerusform>
                <numerusform>%n damaged entries can't be searched. Repair the store first.</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/cli/cache/cleanup.py" />
            <location filename="../../helix_desktop/cli/cache/list.py" />
            <source>%n entries</source>
            <translation>
                <numerusform>%n entry</numerusform>
                <numerusform>%n entries</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/cli/cache/cleanup.py" />
            <source>%n entries, {size} on disk, moved to the trash</source>
            <translation>
                <numerusform>%n entry, {size} on disk, moved to the trash</numerusform>
                <numerusform>%n entries, {size} on disk, moved to the trash</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/cli/cache/cleanup.py" />
            <source>%n entries, {size} on disk, would be moved to the trash</source>
            <translation>
                <numerusform>%n entry, {size} on disk, would be moved to the trash</numerusform>
                <numerusform>%n entries, {size} on disk, would be moved to the trash</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/cli/changes/command.py" />
            <source>%n files accepted</source>
            <translation>
                <numerusform>%n file accepted</numerusform>
                <numerusform>%n files accepted</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/cli/changes/command.py" />
            <source>%n files changed</source>
            <translation>
                <numerusform>%n file changed</numerusform>
                <numerusform>%n files changed</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/cli/move_data.py" />
            <source>%n files moved and verified. The old copy is still in {folder}.</source>
            <translation>
                <numerusform>%n file moved and verified. The old copy is still in {folder}.</numerusform>
                <numerusform>%n files moved and verified. The old copy is still in {folder}.</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/cli/cache/list.py" />
            <source>%n handovers</source>
            <translation>
                <numerusform>%n handover</numerusform>
                <numerusform>%n handovers</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/cli/sessions.py" />
            <source>%n messages</source>
            <translation>
                <numerusform>%n message</numerusform>
                <numerusform>%n messages</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/cli/cache/cleanup.py" />
            <source>%n outputs may be stored again</source>
            <translation>
                <numerusform>%n output may be stored again</numerusform>
                <numerusform>%n outputs may be stored again</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/cli/exam.py" />
            <source>%n questions</source>
            <translation>
                <numerusform>%n question</numerusform>
                <numerusform>%n questions</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/cli/exam.py" />
            <source>%n recordings</source>
            <translation>
                <numerusform>%n recording</numerusform>
                <numerusform>%n recordings</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/cli/cache/cleanup.py" />
            <source>%n sessions</source>
            <translation>
                <numerusform>%n session</numerusform>
                <numerusform>%n sessions</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>A recording is a file of JSON lines, plain or gzip, with one message per line: {message}. Assistant messages can have {calls}. Tool messages have {call_id} and {name}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/cleanup.py" />
            <source>A removed output can't be found by a part of its digest.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/workspace_command.py" />
            <source>A turn runs commands there and sends what it reads to a model.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>API keys: the key of a provider comes from the keychain, otherwise from an environment variable. {variables} belong to the provider of that name. Any other provider reads {pattern}: {provider} reads {variable}. With {base_url}, a provider that isn't set up and isn't one of these also reads {openai}. A line on standard error shows which variable went to which host.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/changes/command.py" />
            <source>Add {options}; {session} takes back all of the newest session.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/changes/command.py" />
            <source>All changes accepted</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/main.py" />
            <source>An argument isn't valid UTF-8.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/changes/lines.py" />
            <source>Before the first message</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/exam.py" />
            <source>Choose a model with a larger context window, or another policy.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/cleanup.py" />
            <source>Copy the 64 digits from the marker in the conversation.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/replay.py" />
            <source>Correct the file.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/exam.py" />
            <source>Cost of the answers: {cost}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/move_data.py" />
            <source>Couldn't delete {paths}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>Create a session that begins with the events of another one up to a point. Nothing is copied, and the other session stays as it is. Continue the branch with {run}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/command.py" />
            <location filename="../../helix_desktop/cli/cache_repair.py" />
            <source>DAMAGED</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>Each question is asked three times: with the context that a policy leaves and the recall tools, with the same context alone, and with the whole history where it fits. Each time is a conversation of up to {requests} requests.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/cleanup.py" />
            <source>Enter a digest, a session ID or {all}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/terminal_approver.py" />
            <source>Enter a number, your own words, or nothing to skip:</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/cleanup.py" />
            <source>Enter more digits.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/list.py" />
            <location filename="../../helix_desktop/cli/changes/selection.py" />
            <location filename="../../helix_desktop/cli/sessions.py" />
            <source>Enter more of its ID.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/terminal_approver.py" />
            <source>Enter numbers (1, 2), your own words, or nothing to skip:</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache_repair.py" />
            <source>File history: {verified} verified, {damaged} damaged</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/backup.py" />
            <source>Helix Desktop and file dialogs find exports by this ending.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/workspace_command.py" />
            <source>If you know what the folder contains, add {trust} or trust it in the window.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/changes/command.py" />
            <source>It compares the files with the last git commit.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/mcp_serve.py" />
            <source>It must have at least {count} ASCII characters.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/exam.py" />
            <source>Judging model {model}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache_repair.py" />
            <source>LOST</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/changes/command.py" />
            <source>Leave it out, or use {option} to choose files.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/run.py" />
            <source>Leave out {session} to start a new one.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>List the commands that can be typed as the first word of a message: built-in ones and those of prompt files. {run} expands prompt files too; built-in commands work in the window only.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/list.py" />
            <location filename="../../helix_desktop/cli/changes/command.py" />
            <location filename="../../helix_desktop/cli/sessions.py" />
            <source>List the sessions with {command}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/cleanup.py" />
            <source>List the trash with {command}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/changes/selection.py" />
            <source>List them with {command}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/main.py" />
            <source>Manage the context of an AI coding agent, and see what is in it. Without a command, the window opens. Instead of a command, TARGET can be an exported workspace ({file}) or a link ({link}).</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/run.py" />
            <source>Model changed from {previous} to {current}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/exam.py" />
            <source>Model {model}, context window {window}, policy {policy}; {questions} on {recordings}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/output.py" />
            <source>No budget covers reading about {tokens} tokens with {model} ({price}). To allow it, set {tokens_option} or {usd_option}. A full context is compacted without a model.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/timeline.py" />
            <source>No changes to the context yet</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/changes/lines.py" />
            <source>No changes yet</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/cleanup.py" />
            <source>No item to restore was given.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/exam.py" />
            <source>No model is set up.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/replay.py" />
            <source>No profile or file has this name.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/exam.py" />
            <source>No recording fits the context window under this policy.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/list.py" />
            <location filename="../../helix_desktop/cli/sessions.py" />
            <source>No session of this workspace starts with {prefix}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/sessions.py" />
            <source>No sessions yet</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/changes/selection.py" />
            <source>No step of the session starts with {prefix}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/backup.py" />
            <source>No workspace data is stored yet.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/output.py" />
            <source>Not compacted.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/exam.py" />
            <source>Not measured. {reason}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache_repair.py" />
            <source>Not repaired: this workspace is open in another running Helix Desktop. Close it there. It is repaired the next time it opens.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/cleanup.py" />
            <source>Nothing in the trash starts with {prefix}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache_repair.py" />
            <source>Nothing needed repair.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/backup.py" />
            <source>Nothing to back up.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/changes/lines.py" />
            <source>Nothing to do</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/changes/command.py" />
            <source>Nothing to revert was given.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/changes/command.py" />
            <source>Nothing was changed: some files were changed since, or can't be reverted. Choose what becomes of them with {option}, or take back others.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/changes/command.py" />
            <source>Nothing was changed: this was a dry run.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/output.py" />
            <source>Observations not updated.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>Offer the tools {tools} over standard input and output. With {http}, programs on this computer that have the token can use them. The workspace can stay open in the window.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/workspace_command.py" />
            <source>Open the folder in the window, or run a turn in it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/cleanup.py" />
            <source>Permanently deleted: {totals}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/replay.py" />
            <source>Policy {name} not found.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/commands.py" />
            <source>Prompt files for all workspaces: {folder}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/commands.py" />
            <source>Prompt files of this folder aren't read until you trust it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/exam.py" />
            <source>Recall exam</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/changes/lines.py" />
            <source>Redo</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache_repair.py" />
            <source>Repairing</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/workspace_command.py" />
            <source>Repairing the store</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/cleanup.py" />
            <source>Restored: {totals}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/output.py" />
            <source>Retrying in {seconds} s (attempt {attempt}): {reason}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/changes/lines.py" />
            <source>Revert</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>Run one turn. It fails with exit code {code} in a folder that isn't trusted: files there could act on this computer. Trust a folder with {trust} or in the window.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/parser.py" />
            <source>SHA-256 or session ID, or its first digits</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>SHA-256, or its first digits</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/parser.py" />
            <source>SHA-256, or its first digits; or entry numbers such as {entries}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/backup.py" />
            <source>Session {session} is open and wasn't extended. Close it and import again.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/run.py" />
            <source>Set it up in Settings → Providers, or choose another with {model}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/exam.py" />
            <source>Set one up in Settings → Providers, or choose one with {model} or {base_url}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/cleanup.py" />
            <source>Several items in the trash start with {prefix}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/list.py" />
            <location filename="../../helix_desktop/cli/sessions.py" />
            <source>Several sessions start with {prefix}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/changes/selection.py" />
            <source>Several steps start with {prefix}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/mcp_serve.py" />
            <source>Sharing the cache of {name} at {url}. Press Ctrl+C to stop.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache_repair.py" />
            <source>Some damage couldn't be repaired. Restore a backup with {command}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/main.py" />
            <source>Something went wrong ({error}). The log is in {folder}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/terminal_approver.py" />
            <source>Subagent: {title}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>TOML file, or one of the profiles {profiles}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/terminal_approver.py" />
            <source>The agent asks: {question}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/backup.py" />
            <source>The content {digest} is damaged or lost and isn't in the file.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/run.py" />
            <source>The key in {variable} is sent to {host}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/licenses.py" />
            <source>The license text of {name} is missing. Reinstall Helix Desktop.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/backup.py" />
            <source>The log of session {session} is damaged and isn't in the file.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/exam.py" />
            <source>The model has {window} tokens.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/exam.py" />
            <source>The offline demo model answers from a script.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/replay.py" />
            <source>The policy in {path} isn't valid.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/replay.py" />
            <source>The policy {path} can't be read.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/mcp_serve.py" />
            <source>The server's address can't be printed: standard output is closed.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/changes/selection.py" />
            <source>The session has no revert to redo.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/changes/selection.py" />
            <source>The session has no such changes.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/mcp_serve.py" />
            <source>The token in {variable} is too weak.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/output.py" />
            <source>The turn failed.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/output.py" />
            <source>The turn was interrupted.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/output.py" />
            <source>The turn was stopped.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache_repair.py" />
            <source>To repair it, run {command} or open the workspace.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/run.py" />
            <source>To send it as a message, put a space before the slash.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/changes/lines.py" />
            <source>Turn {number}: {title}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/main.py" />
            <source>Use UTF-8 for names and texts.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/mcp_serve.py" />
            <source>Use a longer one, or unset the variable to have one generated.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/replay.py" />
            <source>Use one of {profiles}, or the path of a TOML file.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/backup.py" />
            <source>Use {name}, or leave the ending out.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/backup.py" />
            <source>Verified.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache_repair.py" />
            <source>Verifying the file history</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>Work with what the agent and its commands changed in the files of a workspace, which can stay open in the window.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/terminal_approver.py" />
            <source>Write your answer, or nothing to skip:</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/run.py" />
            <source>Write {form}; {command} lists the events.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/changes/lines.py" />
            <source>You or another program</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/output.py" />
            <source>[{work}: reads about {tokens} tokens with {model} ({price}), within the budget]</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/changes/lines.py" />
            <source>accepted</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>add what a file contains; nothing is overwritten</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>address of a server with the OpenAI Chat Completions API</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/parser.py" />
            <source>allow removed outputs to be stored again instead</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>also list archived sessions</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>also list the prompt files of this project folder</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/parser.py" />
            <source>also remove the text on standard input, wherever it occurs</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>also tell the agent the instructions in FILE</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/argparse_texts.py" />
            <source>ambiguous option: {option} could match {matches}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>an empty folder, or a new one</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>approve all requests</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/sessions.py" />
            <source>archived</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/argparse_texts.py" />
            <source>argument {name}: {problem}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>ask a model about recorded sessions and score what it can recall</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>ask only N questions, in turn from each recording (0 = all)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>back up every workspace to its own file</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>back up only this project folder</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>branch a session: continue it from an earlier point</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/sessions.py" />
            <source>branched at {event}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>budget of the session in US dollars (0 = unlimited)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/output.py" />
            <source>budget used: {amounts}</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/cli/rewrite_lines.py" />
            <source>cached ({why}): content of %n messages, {saved} tokens saved</source>
            <translation>
                <numerusform>cached ({why}): content of %n message, {saved} tokens saved</numerusform>
                <numerusform>cached ({why}): content of %n messages, {saved} tokens saved</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/cli/rewrite_lines.py" />
            <source>cached: an image that the model's server refused</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/cli/rewrite_lines.py" />
            <source>cached: content of %n messages, {saved} tokens saved</source>
            <translation>
                <numerusform>cached: content of %n message, {saved} tokens saved</numerusform>
                <numerusform>cached: content of %n messages, {saved} tokens saved</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/cli/changes/lines.py" />
            <source>can't be undone</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/changes/lines.py" />
            <source>changed</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>check everything and repair damage</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>check everything, or one entry, without changing it</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>check this installation</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/parser.py" />
            <source>column to sort by, largest first: {columns}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/output.py" />
            <source>compacting</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/changes/lines.py" />
            <source>created</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>delete the old copy after everything is verified</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/changes/lines.py" />
            <source>deleted</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/output.py" />
            <source>denied</source>
            <comment>a tool call</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/parser.py" />
            <source>digests of outputs to redact</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/cleanup.py" />
            <source>dry run: pass {yes} to remove permanently</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>entry to check (default: everything)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/changes/parser.py" />
            <source>everything that differs from the last git commit, whoever changed it</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/argparse_texts.py" />
            <source>expected at least one argument</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/argparse_texts.py" />
            <source>expected one argument</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>exported file ({suffix})</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/output.py" />
            <source>failed</source>
            <comment>a tool call</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>file to send with the message: text, code, a PDF or an image; {example} sends lines of it, and {mention} in the message does the same for a file of the workspace</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>file to write; {suffix} is added if missing</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/parser.py" />
            <source>find entries and handovers that contain all words</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/parser.py" />
            <source>first line, from 1</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>folder for the backup files</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/main.py" />
            <source>folder where Helix Desktop keeps its data</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>folder with the questions and their keys</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/rewrite_lines.py" />
            <source>handover {event} edited by you: {before} → {after} tokens</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/list.py" />
            <source>handover {event} of session {session}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/rewrite_lines.py" />
            <source>handover {event} run again: {before} → {after} tokens, {model}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>how long to wait for a model server that doesn't answer (default: 10 minutes)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>include the license texts</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/output.py" />
            <source>interrupted</source>
            <comment>a tool call</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/argparse_texts.py" />
            <source>invalid choice: {value} (choose from {choices})</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/argparse_texts.py" />
            <source>invalid value: {value}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/changes/lines.py" />
            <source>its list was removed from the file history</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>keep your names in the bundle</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>last event that the branch shares, such as {event} (default: all)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/parser.py" />
            <source>last line</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>list bundled components and their licenses</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/parser.py" />
            <source>list entries, newest first</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>list sessions, each branch below its parent</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>list the slash commands and prompt files</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/parser.py" />
            <source>list the trash</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>list what was cached, noted, summarized, pinned or undone</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/changes/parser.py" />
            <source>list what was changed, by turn and step</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>list, compare, take back and redo changes of files</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/changes/parser.py" />
            <source>mark changes as accepted</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/list.py" />
            <source>matches name</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/parser.py" />
            <source>maximum number of results</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/parser.py" />
            <source>maximum number of results (default: {limit})</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/parser.py" />
            <source>maximum number of tokens</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/parser.py" />
            <source>maximum size, such as 100KB or 2MB</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>measure what a policy does with recorded sessions</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>message to send</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/parser.py" />
            <source>minimum size, such as 100KB or 2MB</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>model that judges the answers too</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>model to use</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>move the data directory</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/parser.py" />
            <source>move unreferenced entries to the trash</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/changes/lines.py" />
            <source>moved</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/argument_types.py" />
            <source>must be 1 to 64 hex digits (got {value})</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/argument_types.py" />
            <source>must be a number from 0 to 1 (got {value})</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/argument_types.py" />
            <source>must be a number from 1 to {maximum} (got {value})</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/argument_types.py" />
            <source>must be a number of seconds (got {value})</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/argument_types.py" />
            <source>must be a number of tokens, such as {example} (got {value})</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/argument_types.py" />
            <source>must be a number ≥ {minimum} (got {value})</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/argument_types.py" />
            <source>must be a port from 0 to {maximum} (got {value})</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/argument_types.py" />
            <source>must be a size such as 500MB or 2GB (got {value})</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/argument_types.py" />
            <source>must be a time such as 12h, 30d or 4w (got {value})</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/argument_types.py" />
            <source>must be an amount in US dollars, such as {example} (got {value})</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/argument_types.py" />
            <source>must be the number of an event such as e39 (got {value})</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/argument_types.py" />
            <source>must not be empty</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/cleanup.py" />
            <source>no occurrences found</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/rewrite_lines.py" />
            <source>not compacted: {reason}</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/cli/rewrite_lines.py" />
            <source>noted: %n steps, {saved} tokens saved</source>
            <translation>
                <numerusform>noted: %n step, {saved} tokens saved</numerusform>
                <numerusform>noted: %n steps, {saved} tokens saved</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/cli/rewrite_lines.py" />
            <source>notes shortened: %n steps, {saved} tokens saved</source>
            <translation>
                <numerusform>notes shortened: %n step, {saved} tokens saved</numerusform>
                <numerusform>notes shortened: %n steps, {saved} tokens saved</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/parser.py" />
            <source>number of lines around each match</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>number of processes</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/rewrite_lines.py" />
            <source>observations not updated: {reason}</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/cli/rewrite_lines.py" />
            <source>observations prepared: %n messages, {tokens} tokens, {model}</source>
            <translation>
                <numerusform>observations prepared: %n message, {tokens} tokens, {model}</numerusform>
                <numerusform>observations prepared: %n messages, {tokens} tokens, {model}</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/cli/rewrite_lines.py" />
            <source>observations refined: %n messages, {tokens} tokens, {model}</source>
            <translation>
                <numerusform>observations refined: %n message, {tokens} tokens, {model}</numerusform>
                <numerusform>observations refined: %n messages, {tokens} tokens, {model}</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/cli/rewrite_lines.py" />
            <source>observations {event} added to the context ({why}): {saved} tokens saved</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/output.py" />
            <source>ok</source>
            <comment>a tool call</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/parser.py" />
            <source>only digests with this prefix</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/parser.py" />
            <source>only entries not used for this long</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/parser.py" />
            <source>only entries stored longer ago than this, such as 12h, 7d or 4w</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/parser.py" />
            <source>only entries stored within this time, such as 12h, 7d or 4w</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/parser.py" />
            <source>only entries that this session stored first</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/parser.py" />
            <source>only entries that were never recalled</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/parser.py" />
            <source>only lines that match</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/parser.py" />
            <source>only outputs of this tool</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/parser.py" />
            <source>only pinned entries</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/changes/parser.py" />
            <source>only print what would be done</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/parser.py" />
            <source>only targets that contain this text</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/changes/parser.py" />
            <source>only the step with this ID, or its first digits</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/changes/parser.py" />
            <source>only the turn of this message of yours, from 1</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/changes/parser.py" />
            <source>only this file, by its path in the workspace; can be repeated</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/parser.py" />
            <source>only unreferenced entries</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/main.py" />
            <source>open the guided sample in the window</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/main.py" />
            <source>open this folder in the window</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/argparse_texts.py" />
            <source>options</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>output directory</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/rewrite_lines.py" />
            <source>output {event} sent as a preview: {tokens} tokens</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/rewrite_lines.py" />
            <source>output {event} sent as an extract: {tokens} tokens</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/rewrite_lines.py" />
            <source>output {event} sent in full: {tokens} tokens</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/parser.py" />
            <source>permanently delete everything in the trash</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/parser.py" />
            <source>permanently remove a secret (dry run without {yes})</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>permission mode (default: the session's)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/changes/lines.py" />
            <source>permissions</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/sessions.py" />
            <source>pinned</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/rewrite_lines.py" />
            <source>pinned: {event}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>port for {http} (default: any free one)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/argparse_texts.py" />
            <source>positional arguments</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/changes/parser.py" />
            <source>print changes as a patch that git can apply</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>print every event as a JSON line</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>print one JSON document</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>print one JSON document with every answer</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>print one JSON document with the figures of each file</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/parser.py" />
            <source>print what the agent gets when it recalls</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/parser.py" />
            <source>print what the agent of the session in {option} gets</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>project folder</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>read no instructions: neither yours nor AGENTS.md and CLAUDE.md</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>reasoning effort of the session: {levels} (default: the session's)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>recall every output at each Nth model call, not only at the last</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>recordings, or folders of recordings</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/rewrite_lines.py" />
            <source>redone: {event}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/parser.py" />
            <source>remove it; this can't be undone</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/cli/rewrite_lines.py" />
            <source>removed to fit the context window: %n steps, {saved} tokens saved</source>
            <translation>
                <numerusform>removed to fit the context window: %n step, {saved} tokens saved</numerusform>
                <numerusform>removed to fit the context window: %n steps, {saved} tokens saved</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/parser.py" />
            <source>restore entries and sessions from the trash</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/parser.py" />
            <source>restore everything</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/parser.py" />
            <source>reverse order</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/changes/lines.py" />
            <source>reverted</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>run one turn without the window</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>run the guided demo without a display</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>save a zip for a report</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/cleanup.py" />
            <source>session</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/changes/parser.py" />
            <source>session (default: {last}, the newest)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>session to branch ({last} = the newest)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>session to continue ({last} = the newest)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>share a workspace's cache over MCP (Model Context Protocol)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>share of model calls with a simulated recall, in addition to files that are read again</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/main.py" />
            <source>show the version and build</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/argparse_texts.py" />
            <source>show this help and exit</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/parser.py" />
            <source>show what would be moved, and why the rest stays</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/output.py" />
            <source>shown: {output}, {digest}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>simulate recalls</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>size of the model's context window</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>start a new session with the handover of this one as it would be now, or with the handover of an event ({last} = the newest session)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/rewrite_lines.py" />
            <source>started with the handover of “{title}” ({session}): {tokens} tokens</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/parser.py" />
            <source>stop when the cache is down to this size</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/output.py" />
            <source>stopped</source>
            <comment>a tool call</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>store and delete a key in the keychain</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/output.py" />
            <source>subagent {title}: session {session}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/output.py" />
            <source>subagent: session {session}</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/cli/rewrite_lines.py" />
            <source>summarized ({why}): %n messages, {before} → {after} tokens, {model}</source>
            <translation>
                <numerusform>summarized ({why}): %n message, {before} → {after} tokens, {model}</numerusform>
                <numerusform>summarized ({why}): %n messages, {before} → {after} tokens, {model}</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/cli/changes/parser.py" />
            <source>take a revert back (default: the last one)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/changes/parser.py" />
            <source>take changes back: of a file, step, turn or session</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>take screenshots of every screen</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/argparse_texts.py" />
            <source>takes no value (got {value})</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/argparse_texts.py" />
            <source>the following arguments are required: {arguments}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/parser.py" />
            <source>the session whose agent recalls</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/list.py" />
            <source>there may be more: raise {limit}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>title of the branch</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>token budget of the session (0 = unlimited)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>trust the folder from now on</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/rewrite_lines.py" />
            <source>undone: {event}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/rewrite_lines.py" />
            <source>unpinned: {event}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/argparse_texts.py" />
            <source>unrecognized arguments: {arguments}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/output.py" />
            <source>updating observations</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/argparse_texts.py" />
            <source>usage: </source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>use HTTP on the loopback address</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/changes/parser.py" />
            <source>what becomes of files that were changed since: {keep} leaves them as they are, {restore} overwrites them, {merge} merges both (default: change nothing)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/parser.py" />
            <source>words to find, in upper or lower case; {quotes} for a phrase</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>work with the cached outputs of a workspace</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>write sessions and cached outputs to one file</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/parser.py" />
            <source>write the exact bytes of an entry</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/output.py" />
            <source>{call}: {outcome}, {size}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/output.py" />
            <source>{call}: {outcome}, {size}, {digest}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/run.py" />
            <source>{command} works in the window only.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/replay.py" />
            <source>{done} of {total} recordings measured</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache_repair.py" />
            <source>{done} of {total} verified</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/main.py" />
            <source>{error} (see {command})</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/run.py" />
            <source>{event} isn't the event of a handover.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/workspace_command.py" />
            <source>{file} can't be read.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/commands.py" />
            <source>{file} can't be used: {reason}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/changes/selection.py" />
            <source>{file} isn't a file of the workspace.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/commands.py" />
            <source>{file} isn't used: {command} is a built-in command.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/commands.py" />
            <source>{file} isn't used: {command} is {other}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/output.py" />
            <source>{job}: {percent}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/cleanup.py" />
            <source>{lift} requires the full digests of removed outputs.</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/cli/cache/list.py" />
            <source>{listed} of %n entries</source>
            <translation>
                <numerusform>{listed} of %n entry</numerusform>
                <numerusform>{listed} of %n entries</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/cli/run.py" />
            <source>{model} doesn't take effort {effort}: {level} is sent.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/run.py" />
            <source>{model} takes no reasoning effort: none is sent.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/backup.py" />
            <source>{name} must end in {suffix}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/changes/command.py" />
            <source>{option} doesn't go with a session, turn or step.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/workspace_command.py" />
            <source>{option} needs a text file.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/workspace_command.py" />
            <source>{path} isn't a workspace yet.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/workspace_command.py" />
            <source>{path} isn't trusted yet.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/replay.py" />
            <source>{reason}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/cleanup.py" />
            <location filename="../../helix_desktop/cli/cache/list.py" />
            <source>{size} on disk</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/output.py" />
            <source>{spent} of {limit}</source>
            <comment>US dollars</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/output.py" />
            <source>{spent} of {limit} tokens</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache/list.py" />
            <source>{tokens} tokens</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/cli/cache_repair.py" />
            <source>{verified} verified, {damaged} damaged</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Compact</name>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/handover/draft_page.py" />
            <location filename="../../helix_desktop/ui/handover/rows.py" />
            <source>%n messages</source>
            <translation>
                <numerusform>%n message</numerusform>
                <numerusform>%n messages</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/rows.py" />
            <source>A handover, a summary in six sections, replaces older messages. You can undo this at any time, and the agent can recall everything it covers.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/rows.py" />
            <source>A new session starts with this handover and can recall everything it covers.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/rows.py" />
            <source>As far as possible</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/draft_page.py" />
            <source>Both say the same.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/dialog.py" />
            <source>Cancel</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/dialog.py" />
            <location filename="../../helix_desktop/ui/handover/rows.py" />
            <source>Compact</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/rows.py" />
            <source>Compact conversation</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/presenter.py" />
            <source>Counting tokens…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/draft_page.py" />
            <source>Edit text</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/dialog.py" />
            <source>Focus</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/draft_page.py" />
            <source>Handover, as Markdown</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/dialog.py" />
            <source>Range</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/rows.py" />
            <source>Replace handover</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/dialog.py" />
            <source>Retry</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/rows.py" />
            <source>Run handover again</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/draft_page.py" />
            <source>Show differences</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/rows.py" />
            <source>Start new session</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/dialog.py" />
            <source>Stop</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/dialog.py" />
            <source>Summary not used</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/dialog.py" />
            <source>Text from the model</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/rows.py" />
            <source>The same messages</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/rows.py" />
            <source>Up to e{number}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/rows.py" />
            <source>Up to “{excerpt}” (e{number})</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/dialog.py" />
            <source>What to keep, for example open questions (optional)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/rows.py" />
            <source>Whole conversation, for a new session</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/rows.py" />
            <source>Write a draft, then read and edit it. Nothing changes until you compact.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/rows.py" />
            <source>Write a draft, then read and edit it. This session stays as it is.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/dialog.py" />
            <source>Write again</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/dialog.py" />
            <source>Write draft</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/rows.py" />
            <source>Write handover</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/rows.py" />
            <source>You see what differs before the new handover replaces the present one.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/dialog.py" />
            <source>Your changes aren't saved. Press Esc again to discard them.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/draft_page.py" />
            <source>{tokens} tokens</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/rows.py" />
            <source>{tokens} tokens in context</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/rows.py" />
            <source>“{title}” is written again from the messages themselves. The present text stays in the log, and undo restores it.</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Compaction</name>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/rewrites.py" />
            <source>%n files changed since they were read</source>
            <translation>
                <numerusform>%n file changed since it was read</numerusform>
                <numerusform>%n files changed since they were read</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/rewrites.py" />
            <source>%n messages noted as observations</source>
            <translation>
                <numerusform>%n message noted as observations</numerusform>
                <numerusform>%n messages noted as observations</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/rewrites.py" />
            <source>%n messages summarized</source>
            <translation>
                <numerusform>%n message summarized</numerusform>
                <numerusform>%n messages summarized</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/rewrites.py" />
            <source>%n outputs</source>
            <translation>
                <numerusform>%n output</numerusform>
                <numerusform>%n outputs</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/rewrites.py" />
            <source>%n outputs cached</source>
            <translation>
                <numerusform>%n output cached</numerusform>
                <numerusform>%n outputs cached</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/rewrites.py" />
            <source>%n steps noted</source>
            <translation>
                <numerusform>%n step noted</numerusform>
                <numerusform>%n steps noted</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/rewrites.py" />
            <source>%n steps removed to fit the context window</source>
            <translation>
                <numerusform>%n step removed to fit the context window</numerusform>
                <numerusform>%n steps removed to fit the context window</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/words/rewrites.py" />
            <source>Ask mode: the agent asks before it edits files or runs commands</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/rewrites.py" />
            <source>Auto mode: the agent edits files and runs sandboxed commands without asking</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/rewrites.py" />
            <source>Budget: no limit</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/rewrites.py" />
            <source>Budget: {cost}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/rewrites.py" />
            <source>Budget: {tokens} tokens</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/rewrites.py" />
            <source>Budget: {tokens} tokens or {cost}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/rewrites.py" />
            <source>Cached: {contents}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/rewrites.py" />
            <source>Continues “{title}”</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/rewrites.py" />
            <source>Handover edited by you</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/rewrites.py" />
            <source>Handover run again</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/rewrites.py" />
            <source>Model for this session: offline demo model</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/rewrites.py" />
            <source>Model for this session: workspace default</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/rewrites.py" />
            <source>Model for this session: {model}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/rewrites.py" />
            <source>Observations added to the context</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/rewrites.py" />
            <source>Observations prepared (%n facts)</source>
            <translation>
                <numerusform>Observations prepared (%n fact)</numerusform>
                <numerusform>Observations prepared (%n facts)</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/rewrites.py" />
            <source>Observations refined (%n facts)</source>
            <translation>
                <numerusform>Observations refined (%n fact)</numerusform>
                <numerusform>Observations refined (%n facts)</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/words/rewrites.py" />
            <source>Older notes merged into one</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/rewrites.py" />
            <source>Plan mode: the agent only reads and plans</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/rewrites.py" />
            <source>Reasoning effort for this session: workspace default</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/rewrites.py" />
            <source>Reasoning effort for this session: {effort}</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/rewrites.py" />
            <source>Refined observations prepared (%n facts)</source>
            <translation>
                <numerusform>Refined observations prepared (%n fact)</numerusform>
                <numerusform>Refined observations prepared (%n facts)</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/words/rewrites.py" />
            <source>You pinned {output}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/rewrites.py" />
            <source>You sent a preview of {output}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/rewrites.py" />
            <source>You sent an extract of {output}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/rewrites.py" />
            <source>You sent {output} in full</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/rewrites.py" />
            <source>You unpinned {output}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/rewrites.py" />
            <source>always kept in context</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/rewrites.py" />
            <source>arguments of %n steps</source>
            <translation>
                <numerusform>arguments of %n step</numerusform>
                <numerusform>arguments of %n steps</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/words/rewrite_reasons.py" />
            <source>as soon as ready</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/rewrite_reasons.py" />
            <source>automatic</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/rewrite_reasons.py" />
            <source>automatic at {share}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/rewrite_reasons.py" />
            <source>context reached the threshold</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/rewrite_reasons.py" />
            <source>context reached {share}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/rewrite_reasons.py" />
            <source>context was full</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/rewrites.py" />
            <source>from %n messages</source>
            <translation>
                <numerusform>from %n message</numerusform>
                <numerusform>from %n messages</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/rewrites.py" />
            <source>images of %n messages</source>
            <translation>
                <numerusform>images of %n message</numerusform>
                <numerusform>images of %n messages</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/words/rewrite_reasons.py" />
            <source>manual</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/rewrite_reasons.py" />
            <source>provider cache had expired</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/rewrite_reasons.py" />
            <source>provider refused the images</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/rewrites.py" />
            <source>saved {tokens} tokens</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/rewrite_reasons.py" />
            <source>start of this session</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/rewrite_reasons.py" />
            <source>together with a compaction</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/rewrite_reasons.py" />
            <source>together with a note</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/rewrite_reasons.py" />
            <source>together with another change</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/rewrite_reasons.py" />
            <source>together with observations</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/rewrites.py" />
            <source>{before} → {after} tokens</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/rewrites.py" />
            <source>{file} changed since it was read</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/rewrites.py" />
            <source>{file} was deleted since it was read</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/rewrites.py" />
            <source>{tokens} tokens</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Compare handovers</name>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/handover/compare_rows.py" />
            <source>%n added</source>
            <translation>
                <numerusform>%n added</numerusform>
                <numerusform>%n added</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/handover/compare_rows.py" />
            <source>%n changed</source>
            <translation>
                <numerusform>%n changed</numerusform>
                <numerusform>%n changed</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/handover/compare_rows.py" />
            <source>%n dropped</source>
            <translation>
                <numerusform>%n dropped</numerusform>
                <numerusform>%n dropped</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/handover/compare_rows.py" />
            <source>%n moved</source>
            <translation>
                <numerusform>%n moved</numerusform>
                <numerusform>%n moved</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/handover/compare_rows.py" />
            <source>%n unchanged</source>
            <translation>
                <numerusform>%n unchanged</numerusform>
                <numerusform>%n unchanged</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/compared_view.py" />
            <source>Added</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/compare_dialog.py" />
            <source>After</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/compare_rows.py" />
            <source>As it would be now</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/compare_dialog.py" />
            <source>Before</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/compare_rows.py" />
            <source>Both say the same.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/compared_view.py" />
            <source>Changed</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/compare_dialog.py" />
            <source>Close</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/compare_dialog.py" />
            <source>Compare handovers</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/compared_view.py" />
            <source>Differences</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/compared_view.py" />
            <source>Dropped</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/compare_rows.py" />
            <source>Handover of “{title}”</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/compare_rows.py" />
            <source>Items can be put back into the active handover only. Choose it under After.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/compared_view.py" />
            <source>Moved</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/compared_view.py" />
            <source>Moved from {section}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/compare_rows.py" />
            <source>Nothing</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/compare_rows.py" />
            <source>Nothing can be put back here: the handover as it would be now isn't stored.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/compare_rows.py" />
            <source>Nothing can be put back here: this handover is of another session.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/compare_rows.py" />
            <source>Nothing can be put back: no handover is active.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/compare_rows.py" />
            <source>Nothing is before it: every item is new.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/compared_view.py" />
            <source>Put back</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/compare_presenter.py" />
            <source>Put back into {section}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/compared_view.py" />
            <source>Put back: {text}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/compared_view.py" />
            <source>Unchanged</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/compare_dialog.py" />
            <source>Undo</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/compare_presenter.py" />
            <source>Undone. The handover is as it was.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/compared_view.py" />
            <source>empty</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/compared_view.py" />
            <source>{change}: {text}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/compare_rows.py" />
            <source>{title} (active, e{event})</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/compare_rows.py" />
            <source>{title} (e{event})</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/compare_rows.py" />
            <source>{title} (undone, e{event})</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Composer</name>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/chat/composer/completer.py" />
            <source>%n results</source>
            <translation>
                <numerusform>%n result</numerusform>
                <numerusform>%n results</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/composer/queue_list.py" />
            <source>(attachments only)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/completion/files.py" />
            <source>Add :10-40 for lines</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/composer/queue_list.py" />
            <source>After this step</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/composer/composer.py" />
            <source>Attach files</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/composer/composer.py" />
            <source>Attach files (or paste or drop them)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/completion/mentions.py" />
            <source>Attaches {files} (≈ {tokens} tokens)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/composer/attachment_chips.py" />
            <source>Attachment: {attachment}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/completion/contents.py" />
            <source>Cached outputs</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/composer/composer.py" />
            <source>Ctrl+Enter</source>
            <comment>keys</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/composer/queue_list.py" />
            <source>Don't steer: send after this turn</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/composer/queue_list.py" />
            <source>Edit</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/composer/composer.py" />
            <source>Enter</source>
            <comment>key</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/composer/attachment_chips.py" />
            <source>Enter opens it, Delete removes it</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/completion/files.py" />
            <source>Files</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/composer/attachment_chips.py" />
            <source>Insert as text</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/composer/attachment_chips.py" />
            <source>Insert {attachment} as text</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/composer/composer.py" />
            <source>Message</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/composer/composer.py" />
            <source>Model: {model}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/composer/queue_list.py" />
            <source>Move down</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/composer/queue_list.py" />
            <source>Move up</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/completion/contents.py" />
            <source>No matching cached outputs</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/completion/files.py" />
            <source>No matching files</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/composer/attachment_chips.py" />
            <source>Open</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/composer/composer.py" />
            <source>Queue</source>
            <comment>verb: send after this turn</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/composer/queue_list.py" />
            <source>Queue paused</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/composer/composer.py" />
            <source>Queue: send after this turn</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/composer/queue_list.py" />
            <source>Queued</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/composer/queue_list.py" />
            <source>Queued message</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/composer/attachment_chips.py" />
            <source>Remove</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/composer/queue_list.py" />
            <source>Remove from queue</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/composer/attachment_chips.py" />
            <source>Remove {attachment}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/composer/notice_strip.py" />
            <source>Restricted mode: nothing runs or is sent. You can view sessions and cache.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/composer/completer.py" />
            <source>Searching…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/composer/composer.py" />
            <source>Send</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/composer/attachment_chips.py" />
            <source>Send in full</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/composer/queue_list.py" />
            <source>Send now</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/composer/todo_panel.py" />
            <source>Show full list</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/composer/todo_panel.py" />
            <source>Show only the current item</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/composer/composer.py" />
            <source>Steer</source>
            <comment>verb: send into the running turn</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/composer/queue_list.py" />
            <source>Steer: send after the current step</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/composer/composer.py" />
            <source>Steer: send after the current step (Ctrl+Shift+Enter)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/composer/composer.py" />
            <source>Stop</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/composer/notice_strip.py" />
            <source>This folder isn't trusted</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/composer/todo_panel.py" />
            <source>To do</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/composer/notice_strip.py" />
            <source>Trust folder…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/completion/contents.py" />
            <source>Type words, "several words", or a digest</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/composer/composer.py" />
            <source>Write a message</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/composer/composer.py" />
            <source>Write a message: @ for files, # for cached outputs, / for commands</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/composer/todo_panel.py" />
            <source>{done} of {total} done</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/composer/composer.py" />
            <source>{keys} to queue</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/composer/composer.py" />
            <source>{keys} to send</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/chat/composer/completer.py" />
            <source>{row}, {number} of {count}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/completion/contents.py" />
            <source>{tokens} tokens</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Context</name>
        <message>
            <location filename="../../helix_desktop/context/summaries/edited_handover.py" />
            <source>Add them again.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/left_context.py" />
            <source>Cached: replaced by a marker. The agent can recall it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/left_context.py" />
            <source>Changed since (e{event})</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/left_context.py" />
            <source>Changed since (e{event}): this is the file as it was then.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/log/branch_points.py" />
            <source>Choose another event.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/summaries/continued_handover.py" />
            <source>Choose another session or handover.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/gauge_source.py" />
            <source>Estimated</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/gauge_source.py" />
            <source>Estimated: {ratio} × Helix's count</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/gauge_source.py" />
            <source>Estimated: {ratio} × Helix's count, from earlier sessions</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/log/branch_points.py" />
            <source>Event e{event} comes before the first message.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/summaries/continued_handover.py" />
            <source>Event e{event} isn't a handover of that session.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/log/branch_points.py" />
            <source>Event e{event} isn't a message of the user.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/summaries/edited_handover.py" />
            <source>Headings are missing: {headings}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/summaries/summary_check.py" />
            <source>It has about {wrote} tokens for {read} tokens of history.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/summaries/edited_handover.py" />
            <location filename="../../helix_desktop/context/summaries/handover.py" />
            <source>It is empty.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/summaries/summary_check.py" />
            <source>It mentions no file, command or instruction from the history.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/summaries/edited_handover.py" />
            <source>Line {line} is before the first heading.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/summaries/edited_handover.py" />
            <source>Line {line}: the heading {heading} appears twice.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/summaries/edited_handover.py" />
            <source>Line {line}: {heading} isn't one of the six headings.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/summaries/edited_handover.py" />
            <source>Merge its two sections.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/summaries/continued_handover.py" />
            <source>No session can start from this.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/left_context.py" />
            <source>Noted: replaced by a shorter note. Undo puts the originals back into the context.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/summaries/handover.py" />
            <location filename="../../helix_desktop/context/summaries/observation_task.py" />
            <source>Nothing was changed.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/gauge_source.py" />
            <source>Reported by the provider</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/summaries/handover.py" />
            <source>Sections are missing: {headings}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/window/rejected_images.py" />
            <source>Send without it, or choose another model.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/window/rejected_images.py" />
            <source>Send without them, or choose another model.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/summaries/edited_handover.py" />
            <source>Start with the heading ## {heading}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/left_context.py" />
            <source>Summarized: replaced by a handover. Undo puts the messages back into the context.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/summaries/continued_handover.py" />
            <source>That session has no messages yet.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/summaries/edited_handover.py" />
            <source>The edited handover can't be read.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/summaries/handover.py" />
            <source>The model's summary wasn't used.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/summaries/observation_task.py" />
            <source>The observations weren't used.</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/gauge_source.py" />
            <source>The provider counts {ratio} × Helix's count (median of %n reports)</source>
            <translation>
                <numerusform>The provider counts {ratio} × Helix's count (%n report)</numerusform>
                <numerusform>The provider counts {ratio} × Helix's count (median of %n reports)</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/context/log/branch_points.py" />
            <source>The session can't be branched there.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/log/branch_points.py" />
            <source>The session has no event e{event}; its last is e{last}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/summaries/edited_handover.py" />
            <source>The six headings are: {headings}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/log/branch_points.py" />
            <source>The step at event e{event} is still running.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/summaries/observation_task.py" />
            <source>They are empty.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/window/rejected_images.py" />
            <source>Unpin the image, or choose another model.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/log/branch_points.py" />
            <source>Wait until its tools have finished, or stop the turn. Earlier events can be used at once.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/summaries/edited_handover.py" />
            <source>Write at least one sentence.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/window/rejected_images.py" />
            <source>{provider} rejected an image: {names}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/window/rejected_images.py" />
            <source>{provider} rejected one of {count} images: {names}.</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Controls</name>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/design/layout/disclosure.py" />
            <source>%n characters</source>
            <translation>
                <numerusform>%n character</numerusform>
                <numerusform>%n characters</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/design/viewer/json_view.py" />
            <source>%n items</source>
            <translation>
                <numerusform>%n item</numerusform>
                <numerusform>%n items</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/design/layout/disclosure.py" />
            <location filename="../../helix_desktop/ui/design/viewer/content_viewer.py" />
            <source>%n lines</source>
            <translation>
                <numerusform>%n line</numerusform>
                <numerusform>%n lines</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/design/viewer/json_view.py" />
            <source>%n members</source>
            <translation>
                <numerusform>%n member</numerusform>
                <numerusform>%n members</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/design/viewer/content_viewer.py" />
            <source>%n rows of hex</source>
            <translation>
                <numerusform>%n row of hex</numerusform>
                <numerusform>%n rows of hex</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/dialogs.py" />
            <source>Cancel</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/fields.py" />
            <source>Clear search</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/dialogs.py" />
            <source>Close</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/viewer/find_bar.py" />
            <source>Close (Esc)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/viewer/paged_text.py" />
            <source>Content</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/window_state.py" />
            <source>Context window unknown</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/viewer/content_viewer.py" />
            <source>Copied</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/viewer/content_viewer.py" />
            <source>Copy</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/viewer/content_viewer.py" />
            <source>Copy all (Ctrl+Shift+C)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/viewer/picture.py" />
            <source>Damaged image</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/layout/disclosure.py" />
            <source>Files, commands and errors</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/viewer/content_viewer.py" />
            <source>Find (Ctrl+F)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/viewer/find_bar.py" />
            <source>Find in this content</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/viewer/json_view.py" />
            <source>JSON tree</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/viewer/content_viewer.py" />
            <source>Next page</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/viewer/find_bar.py" />
            <source>Next result (F3)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/viewer/find_bar.py" />
            <source>No results</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/dialogs.py" />
            <source>OK</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/page_stack.py" />
            <source>Pages</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/viewer/content_viewer.py" />
            <source>Previous page</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/viewer/find_bar.py" />
            <source>Previous result (Shift+F3)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/fields.py" />
            <source>Search</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/layout/disclosure.py" />
            <source>Summary not used</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/what_is_this.py" />
            <source>What is this?</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/quick_picker.py" />
            <source>close</source>
            <comment>what the Esc key does</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/window_state.py" />
            <source>compaction off</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/window_state.py" />
            <source>compacts in ~{tokens}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/window_state.py" />
            <source>compacts now</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/quick_picker.py" />
            <source>move</source>
            <comment>what the arrow keys do</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/viewer/content_viewer.py" />
            <source>{first}–{last} of {count} lines</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/viewer/content_viewer.py" />
            <source>{first}–{last} of {count} rows of hex</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/cards.py" />
            <location filename="../../helix_desktop/ui/design/viewer/json_view.py" />
            <source>{name}: {value}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/viewer/find_bar.py" />
            <source>{place} of {count}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/viewer/find_bar.py" />
            <source>{place} of {count}+</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/layout/disclosure.py" />
            <source>{title}, {note}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/window_state.py" />
            <source>{used} / {window}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/window_state.py" />
            <source>≈ {share}</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Costs</name>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/costs.py" />
            <source>%n calls</source>
            <translation>
                <numerusform>%n call</numerusform>
                <numerusform>%n calls</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/words/costs.py" />
            <source>Enter a number.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/costs.py" />
            <source>Enter a whole number, for example 200,000 or 200k.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/costs.py" />
            <source>Enter an amount, for example 2.50.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/costs.py" />
            <source>Provider cache: {usage}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/costs.py" />
            <source>Reads ≈ {tokens} tokens</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/costs.py" />
            <source>price unknown</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/costs.py" />
            <source>{share} of budget ({amount})</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/costs.py" />
            <source>{share} of budget ({tokens} or {cost})</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/costs.py" />
            <source>{tokens} tokens</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/costs.py" />
            <source>{tokens} tokens before the branch</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/costs.py" />
            <source>{tokens} tokens sent and received</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/costs.py" />
            <source>≈ {cost}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/costs.py" />
            <source>≈ {tokens} tokens sent and received</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Demo</name>
        <message numerus="yes">
            <location filename="../../helix_desktop/demo/session_checks.py" />
            <source>%n calls</source>
            <translation>
                <numerusform>%n call</numerusform>
                <numerusform>%n calls</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/demo/session_checks.py" />
            <source>%n entries</source>
            <translation>
                <numerusform>%n entry</numerusform>
                <numerusform>%n entries</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/demo/session_checks.py" />
            <source>%n facts</source>
            <translation>
                <numerusform>%n fact</numerusform>
                <numerusform>%n facts</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/demo/run_demo.py" />
            <source>%n of {checks} checks failed</source>
            <translation>
                <numerusform>%n of {checks} checks failed</numerusform>
                <numerusform>%n of {checks} checks failed</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/demo/session_checks.py" />
            <source>%n outputs</source>
            <translation>
                <numerusform>%n output</numerusform>
                <numerusform>%n outputs</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/demo/session_checks.py" />
            <source>%n steps</source>
            <translation>
                <numerusform>%n step</numerusform>
                <numerusform>%n steps</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/demo/session_checks.py" />
            <source>%n times</source>
            <translation>
                <numerusform>%n time</numerusform>
                <numerusform>%n times</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/demo/session_checks.py" />
            <source>%n times at the threshold</source>
            <translation>
                <numerusform>%n time at the threshold</numerusform>
                <numerusform>%n times at the threshold</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/demo/session_checks.py" />
            <source>%n turns</source>
            <translation>
                <numerusform>%n turn</numerusform>
                <numerusform>%n turns</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/demo/tour.py" />
            <source>A turn of the demo didn't end.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/demo/run_demo.py" />
            <source>Choose another folder with {option}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/demo/screenshots.py" />
            <source>Free up disk space, or choose another folder.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/demo/tour.py" />
            <source>See the log in the data directory.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/demo/tour.py" />
            <source>The context didn't change.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/demo/run_demo.py" />
            <source>The demo would have to replace it, but didn't create it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/demo/screenshots.py" />
            <source>The dialog of {name} didn't open.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/demo/tour.py" />
            <source>The message was: {message}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/demo/tour.py" />
            <source>The window doesn't show a session.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/demo/tour.py" />
            <source>This is a bug. Report it.</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/demo/session_checks.py" />
            <source>added to the context %n times</source>
            <translation>
                <numerusform>added to the context %n time</numerusform>
                <numerusform>added to the context %n times</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/demo/session_checks.py" />
            <source>arguments byte for byte</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/demo/session_checks.py" />
            <source>arguments of %n steps</source>
            <translation>
                <numerusform>arguments of %n step</numerusform>
                <numerusform>arguments of %n steps</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/demo/session_checks.py" />
            <source>cache</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/demo/session_checks.py" />
            <source>cached</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/demo/tour.py" />
            <source>caching undone and redone</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/demo/session_checks.py" />
            <source>context</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/demo/tour.py" />
            <source>note undone and redone</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/demo/session_checks.py" />
            <source>noted</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/demo/tour.py" />
            <source>nothing to undo</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/demo/session_checks.py" />
            <source>observations</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/demo/tour.py" />
            <source>opened in {duration}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/demo/tour.py" />
            <source>other workspace</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/demo/session_checks.py" />
            <source>outputs byte for byte</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/demo/session_checks.py" />
            <source>prepared %n times</source>
            <translation>
                <numerusform>prepared %n time</numerusform>
                <numerusform>prepared %n times</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/demo/session_checks.py" />
            <source>recalled by the agent</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/demo/run_demo.py" />
            <source>screenshots</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/demo/session_checks.py" />
            <source>summarized</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/demo/tour.py" />
            <source>summary undone and redone</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/demo/run_demo.py" />
            <source>time</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/demo/session_checks.py" />
            <source>tool calls</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/demo/session_checks.py" />
            <source>{before} → {after} tokens</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/demo/tour.py" />
            <source>{before} → {undone} → {redone} tokens</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/demo/session_checks.py" />
            <source>{compared} compared with the log</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/demo/run_demo.py" />
            <source>{count} in {folder}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/demo/tour.py" />
            <source>{found} of {digests} digests of the first workspace found</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/demo/session_checks.py" />
            <source>{matching} of {total} match their calls</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/demo/run_demo.py" />
            <source>{path} already exists.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/demo/run_demo.py" />
            <source>{path} can't be used.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/demo/screenshots.py" />
            <source>{path} can't be written.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/demo/session_checks.py" />
            <source>{size} bytes</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/demo/session_checks.py" />
            <source>{size} on disk</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/demo/session_checks.py" />
            <source>{tokens} in the largest request</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/demo/session_checks.py" />
            <source>{tokens} now</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/demo/session_checks.py" />
            <source>{tokens} tokens saved</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/demo/session_checks.py" />
            <source>{tokens} tokens unmanaged</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/demo/session_checks.py" />
            <source>{verified} of {stored} read back by SHA-256</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Diagnostics</name>
        <message>
            <location filename="../../helix_desktop/services/diagnostics/bundle.py" />
            <source>Choose another folder.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/diagnostics/bundle.py" />
            <source>The diagnostics couldn't be saved.</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Edit handover</name>
        <message>
            <location filename="../../helix_desktop/ui/handover/edit_dialog.py" />
            <source>Back to fields</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/section_editor.py" />
            <source>Back to the text as it was first recorded</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/edit_dialog.py" />
            <source>Cancel</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/edit_dialog.py" />
            <source>Close</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/edit_dialog.py" />
            <source>Compare with original</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/edit_dialog.py" />
            <source>Each line is a sentence; [e12] names the event it comes from. The original stays in the log, and undo restores the text from before your changes.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/edit_dialog.py" />
            <source>Edit handover</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/edit_rows.py" />
            <source>Edit that one</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/section_editor.py" />
            <source>Edited</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/section_editor.py" />
            <source>Nothing recorded</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/edit_dialog.py" />
            <source>Put back into {section}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/edit_rows.py" />
            <source>Redo</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/section_editor.py" />
            <source>Reset</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/section_editor.py" />
            <source>Reset {section}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/edit_dialog.py" />
            <source>Save changes</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/edit_dialog.py" />
            <source>Sections</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/edit_dialog.py" />
            <source>The same as the original.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/edit_rows.py" />
            <source>This handover is of another session. Edit it there.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/edit_rows.py" />
            <source>This handover is undone: it isn't in the context. Redo it to edit it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/edit_dialog.py" />
            <source>What the handover takes in the context, without your own messages</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/edit_dialog.py" />
            <source>Your changes aren't saved. Repeat to discard them.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/section_editor.py" />
            <source>{section} is as it was first recorded.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/edit_rows.py" />
            <source>{tokens} ({change})</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/edit_rows.py" />
            <source>{tokens} tokens</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/handover/edit_rows.py" />
            <source>“{title}” replaces this one in the context, so only that one can be edited.</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Exam</name>
        <message>
            <location filename="../../helix_desktop/exam/report.py" />
            <source>95 % interval</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/exam/examiner.py" />
            <source>A question file names its recording by the SHA-256 of the unpacked lines.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/exam/questions.py" />
            <source>Each question needs its own ID, each recording one file.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/exam/examiner.py" />
            <source>No questions about these recordings found.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/exam/questions.py" />
            <source>No questions in {folder}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/exam/questions.py" />
            <source>Question files end in {suffix}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/exam/questions.py" />
            <source>See {section} in the README.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/exam/questions.py" />
            <source>The questions in {path} can't be used.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/exam/report.py" />
            <source>answers</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/exam/report.py" />
            <source>artifacts</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/exam/report.py" />
            <source>context with recall</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/exam/report.py" />
            <source>decisions</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/exam/report.py" />
            <source>facts</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/exam/report.py" />
            <source>in context, %</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/exam/report.py" />
            <source>points, %</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/exam/report.py" />
            <source>recalls</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/exam/report.py" />
            <source>recalls if any</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/exam/report.py" />
            <source>right</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/exam/report.py" />
            <source>right by judge</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/exam/report.py" />
            <source>right, %</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/exam/report.py" />
            <source>same context, no recall</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/exam/report.py" />
            <source>state at the end</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/exam/report.py" />
            <source>the user's wishes</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/exam/report.py" />
            <source>tokens in</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/exam/report.py" />
            <source>tokens out</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/exam/report.py" />
            <source>whole history</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/exam/questions.py" />
            <source>{names} occurs more than once in the questions.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/exam/questions.py" />
            <source>{reason}.</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Git</name>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/git.py" />
            <source>%n changed</source>
            <translation>
                <numerusform>%n changed</numerusform>
                <numerusform>%n changed</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/git.py" />
            <source>%n changed files</source>
            <translation>
                <numerusform>%n changed file</numerusform>
                <numerusform>%n changed files</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/git.py" />
            <source>%n commits ahead of {name}</source>
            <translation>
                <numerusform>%n commit ahead of {name}</numerusform>
                <numerusform>%n commits ahead of {name}</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/git.py" />
            <source>%n commits behind {name}</source>
            <translation>
                <numerusform>%n commit behind {name}</numerusform>
                <numerusform>%n commits behind {name}</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/git.py" />
            <source>%n conflicts</source>
            <translation>
                <numerusform>%n conflict</numerusform>
                <numerusform>%n conflicts</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/git.py" />
            <source>%n of them in conflict</source>
            <translation>
                <numerusform>%n of them in conflict</numerusform>
                <numerusform>%n of them in conflict</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/git.py" />
            <source>%n untracked</source>
            <translation>
                <numerusform>%n untracked</numerusform>
                <numerusform>%n untracked</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/git.py" />
            <source>%n untracked files or folders</source>
            <translation>
                <numerusform>%n untracked file or folder</numerusform>
                <numerusform>%n untracked files or folders</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/words/git.py" />
            <source>A git checkout</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/git/changes.py" />
            <source>Another user owns this folder, and git doesn't read it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/git.py" />
            <source>Branch {name}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/git.py" />
            <source>Changes aren't known: another user owns this folder, and git doesn't read it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/git.py" />
            <source>Changes aren't known: git didn't answer in time.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/git.py" />
            <source>Changes aren't known: git reported an error.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/git.py" />
            <source>Changes aren't known: there are too many to count.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/git_label.py" />
            <source>Click to see what changed since the last commit</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/git/changes.py" />
            <source>Couldn't find a git checkout to compare with.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/git/changes.py" />
            <source>Couldn't read the git checkout.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/git/changes.py" />
            <source>Couldn't read {file}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/git/changes.py" />
            <source>Create one with git init, or look at a session's changes.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/git.py" />
            <source>Detached at commit {commit}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/git/changes.py" />
            <source>Git didn't answer in time.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/git/changes.py" />
            <source>Git has no content {id} here.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/git/changes.py" />
            <source>Git isn't run here.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/git/changes.py" />
            <source>Git reported an error.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/design/git_label.py" />
            <source>Git: {state}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/git/changes.py" />
            <source>Its permissions or the ignore file don't allow it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/git.py" />
            <source>No changes</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/git.py" />
            <source>No commits yet</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/git/changes.py" />
            <source>The folder isn't in one, or git isn't installed.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/git/changes.py" />
            <source>This folder isn't trusted.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/git/changes.py" />
            <source>Too many files differ from the last commit.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/git/changes.py" />
            <source>Trust the folder first.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/git.py" />
            <source>Up to date with {name}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/git.py" />
            <source>Worktree {name} of {folder}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/git.py" />
            <source>at {commit}</source>
            <comment>a commit</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/git.py" />
            <source>git</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/git.py" />
            <source>no commits yet</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/git.py" />
            <source>state not known</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/git.py" />
            <source>worktree {name}</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Guide</name>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>A change is sent with your next message. What stood before it stays as it was.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_changes.py" />
            <source>A file that was changed later is never overwritten without asking: you choose to keep it, to take the previous one, or to merge both.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>A file that you mention is attached when you send the message, as it is then. A line below the message says which files are attached, and which don't exist.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>A long paste becomes a chip above the message. Press it to see the text, put it back into the message, or remove it. Delete removes the chip that has the keyboard.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>A marker is one line with the name of the output and its digest. Long arguments of old tool calls and images in old messages are cached the same way.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>A message that begins with a path such as {path} is sent as text.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>A new output over {tokens} tokens is shown to the model as a preview or an extract. Later, the outputs of older steps are replaced by markers.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>A number such as {number} and a heading stay text.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>A prompt file is a Markdown file whose text is sent as your message. {file} is the command {command}; a file in a subfolder has the folder before its name: {nested}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_changes.py" />
            <source>A revert is a change like any other. You can undo it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_changes.py" />
            <source>Accept and revert</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_changes.py" />
            <source>Accept marks a change as reviewed. It changes no file.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>Add lines with a colon: {example}. Put a path with spaces in quotes: {quoted}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>All of it. Messages, outputs, edits and every change to the context stay in the workspace's data until you remove them. Nothing is deleted to make room in the context.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>An observation leaves the context when a later one says that it's done or over. It stays in the timeline.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>An output is replaced by a marker. The whole output stays in the cache.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>At {share} of the context window, the conversation is compacted: a model writes a handover with goals, decisions, files, results and open tasks. It replaces the older messages; the newest stay word for word.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>Attachments</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>Background work asks you before it reads more than {tokens} tokens or half the context window.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>Built-in commands</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>Cache: every output, including those that left the context.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>Cached</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>Cached outputs</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>Change it</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>Changes of files</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>Changes: the files that the session changed, with their diffs, and Revert.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_changes.py" />
            <source>Choose “Rewind to here” below one of your messages, or type {command}: the files, the conversation, or both go back to where they were before it. A preview shows what would change.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>Choose “Start new session” there, or in the menu of a handover: the new session starts with it and can recall everything it covers. Both sessions are linked.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>Context policy</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>Each change is a card in the timeline. Choose Undo on it, and Redo to apply it again.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>Every change of a file can be seen and undone, those of commands too.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_changes.py" />
            <source>Every change of a file in the workspace: by the agent's tools, by commands and the programs they start, by you or another program in between. The previous content is stored on this computer. No git is needed.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>Every command is also in the command palette. Settings → Keyboard changes keys.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>Everything is stored on this computer as it arrives. The context is a view of it that stays small: large and old outputs are cached, old steps are noted, old messages are summarized.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>Files</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>Files that change</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide.py" />
            <source>Guide</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>Helix Desktop keeps everything and shows the model only what fits.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>How context works</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>How it works</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>How to get it back</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_changes.py" />
            <source>Ignored folders, build results, secrets such as {file}, files over the size limit and what can't be read. The line below the list counts them; open it to see each with its reason, and to include it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>In plain words</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>Inspector: what the next request contains, part by part, in tokens.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>Instructions</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>Keyboard shortcuts</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>Lines between {fence} at the top can give {fields}. The rest is sent as it is: nothing in a prompt file is run.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>List files in {file}, in the syntax of .gitignore. No tool reads, lists, finds, searches or writes them. Commands can't be held to it; their requests for approval say so.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>Mention files and cached outputs, and bring earlier messages back.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>Not a command</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>Noted</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>Observations</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>Old steps</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>Old steps and messages are replaced by a short note of what happened.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>Older messages are replaced by a handover: one document that sums them up.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_changes.py" />
            <source>On the command line, {command} lists, compares, reverts and redoes changes.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>Outputs of noted steps stay in the cache, and the agent can recall them.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>Pin an output to keep it in the context.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>Prompt files are in {folders} of the workspace, and in {own} of the data directory for all workspaces. Of two with one name the workspace's is used.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>Prompt files of a folder are read only after you trust it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>Questions</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_changes.py" />
            <source>Revert restores what was there before: in one part of a file, a file, a step, a turn or the whole session. All files are written, or none.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_changes.py" />
            <source>Rewind</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>Settings → Context policy: choose a profile, or change single numbers for a workspace.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>Slash commands</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>Steps more than {count} model calls back are replaced by a note: what was said stays, tool calls become one line each. No model is needed for this.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>Summarized</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>Take it along</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>The agent can ask you what only you can decide. Choose an option by mouse or by its number, write something else, or skip it. A question waits as long as you like.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>The agent is told once where it works, and what you want of it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>The agent recalls a cached output itself when it needs it, byte for byte.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>The chat always shows all messages, including summarized ones.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>The default policy keeps the newest steps word for word: at most {steps} steps and {tokens} tokens. It caches older outputs in batches when that saves more than it costs, notes old steps, and compacts at {share} of the context window.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>The inspector lists each text with its tokens. None of them leaves the context.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>The inspector says under “What comes next” what changes when, what it saves and costs.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_changes.py" />
            <source>The page Changes lists the files of a session by turn or by file, with their diffs.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>The paper clip, paste and drop attach any text or code file, the text of a PDF, and images. A large file enters as a preview; the agent recalls the rest.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>The policy decides when something is cached, noted or summarized.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>The timeline shows the handover as it would be now at any time, made without a model. Copy it, or let a model write it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>The workspace: {files}; those in other folders when the agent first works there. In a folder that you don't trust they aren't read, nor through a link that leads out of it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>Timeline: what was cached, noted and summarized, when and why, with Undo.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>To undo changes of files, open Changes.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>Type # and words, or the first 8 digits of a digest, and choose an output to attach it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>Type / as the first character of a message to run a command.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>Type @ and a few letters of a name or path. Files that the session used come first.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>Undo and redo</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>Undo changes what the model sees next. It doesn't change files or messages.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>Undo the compaction: the messages return to the context as they were.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>Undo the note in the timeline: the steps or messages return to the context.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>Up and Down choose, Tab or Enter inserts, Esc closes the list. {keys} opens it again, also for text that you pasted.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>Up in an empty message brings the messages that you sent before, Down goes back. With the cursor at the very beginning it works in front of a draft, which is kept.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>What is kept</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_changes.py" />
            <source>What is not covered</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_changes.py" />
            <source>What is recorded</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>What leaves the context</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>What no tool reads</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>What the agent is told</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>What the model sees</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>What you type after the command replaces {all} in the text; {first} to {last} are single words, or several in double quotes. What has no place is added at the end.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>When a file changes after the agent read it, by an edit, a command or in your editor, the output says “changed since”. It still shows the file as it was.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>When it happens</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>When messages without a note pass {start} of the context window, a model writes observations about them in the background: dated facts, decisions and results. They replace these messages when the context passes {place} of the context window, or earlier when it costs little.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>When the observations pass {share} of the context window, they are refined: merged into fewer, without outdated facts.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>Where instructions come from</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>Where to look</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>While you type</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>Why in batches: after each change the provider reads the context again at full price, so a few large changes cost less than many small ones.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>With every request a model reads the whole context again: your messages, its own answers, files and command output. Its context window has a limit, and it doesn't see what doesn't fit.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>With the first message: date, system, shell, folder, git branch, interpreters, the usual test command. Then the instructions, the most general first; the later ones win.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>Write messages</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>You can compact earlier: choose “Compact conversation…” in the Session menu.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>You can open it under Cache, search it, and recall it into your next message.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>You can read and edit a handover before it is used.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>You can undo an older change and keep newer ones. If a newer change covers the same messages, they return only when you undo that one too. The card says so.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>You can undo every change to the context, at any time and in any order.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>You: for all workspaces and for this one, in Settings → Instructions.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>Your instructions, files, commands and numbers that the handover doesn't name are added below it. Its card says how much it names.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>Your own commands</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/help/guide_texts.py" />
            <source>{command} asks the model a side question, also while it works. It answers from the present context; question and answer are never sent again.</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Inspector</name>
        <message numerus="yes">
            <location filename="../../helix_desktop/context/window/window_breakdown.py" />
            <source>%n MCP tools</source>
            <translation>
                <numerusform>%n MCP tool</numerusform>
                <numerusform>%n MCP tools</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/inspector/view.py" />
            <source>%n items</source>
            <translation>
                <numerusform>%n item</numerusform>
                <numerusform>%n items</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/inspector/view.py" />
            <source>%n markers</source>
            <translation>
                <numerusform>%n marker</numerusform>
                <numerusform>%n markers</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/context/window/window_breakdown.py" />
            <source>%n observations about messages up to e{last}</source>
            <translation>
                <numerusform>%n observation about messages up to e{last}</numerusform>
                <numerusform>%n observations about messages up to e{last}</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/inspector/from_window.py" />
            <source>%n observations ready for the next request</source>
            <translation>
                <numerusform>%n observation ready for the next request</numerusform>
                <numerusform>%n observations ready for the next request</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/inspector/from_window.py" />
            <source>%n observations ready: used at {share}, with another change, or when the provider cache expires</source>
            <translation>
                <numerusform>%n observation ready: used at {share}, with another change, or when the provider cache expires</numerusform>
                <numerusform>%n observations ready: used at {share}, with another change, or when the provider cache expires</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/inspector/charts.py" />
            <location filename="../../helix_desktop/ui/inspector/rows.py" />
            <source>%n tokens</source>
            <translation>
                <numerusform>%n token</numerusform>
                <numerusform>%n tokens</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/inspector/charts.py" />
            <source>%n tokens saved</source>
            <translation>
                <numerusform>%n token saved</numerusform>
                <numerusform>%n tokens saved</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/context/window/window_breakdown.py" />
            <source>%n tools</source>
            <translation>
                <numerusform>%n tool</numerusform>
                <numerusform>%n tools</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/context/window/window_breakdown.py" />
            <source>A link leads out of the workspace, or the agent may not read it</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/from_window.py" />
            <source>Agent</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/from_window.py" />
            <source>Agent, arguments cached</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/window/window_breakdown.py" />
            <location filename="../../helix_desktop/ui/inspector/from_window.py" />
            <source>Also sent</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/rows.py" />
            <source>Always sent</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/rows.py" />
            <source>Arguments cached</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/view.py" />
            <source>As sent at {step}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/charts.py" />
            <source>At {share}: context is freed at once, without a model</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/charts.py" />
            <source>At {share}: observations of older messages are written</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/charts.py" />
            <source>At {share}: observations replace the messages</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/charts.py" />
            <source>At {share}: older messages are summarized</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/view.py" />
            <source>Back (Esc)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/view.py" />
            <source>Back to now</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/view.py" />
            <source>Cache</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/charts.py" />
            <location filename="../../helix_desktop/ui/inspector/rows.py" />
            <source>Cached</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/inspector/forecast_texts.py" />
            <source>Caches old outputs in about %n model calls · {tokens} tokens</source>
            <translation>
                <numerusform>Caches old outputs in about %n model call · {tokens} tokens</numerusform>
                <numerusform>Caches old outputs in about %n model calls · {tokens} tokens</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/forecast_texts.py" />
            <source>Caches old outputs with the next request · {tokens} tokens</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/inspector/forecast_texts.py" />
            <source>Caching or noting doesn't pay off within the next %n model calls.</source>
            <translation>
                <numerusform>Caching or noting doesn't pay off within the next %n model call.</numerusform>
                <numerusform>Caching or noting doesn't pay off within the next %n model calls.</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/context/window/window_breakdown.py" />
            <source>Calls {tools}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/window/window_breakdown.py" />
            <source>Changed on disk</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/window/window_breakdown.py" />
            <source>Chosen by the agent</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/window/window_breakdown.py" />
            <source>Chosen by you</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/forecast_texts.py" />
            <source>Compaction starts at {share} of the context window; now it is {used} full.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/view.py" />
            <source>Compacts at {share} · due now</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/view.py" />
            <source>Compacts at {share} · in about {tokens} tokens</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/view.py" />
            <source>Context</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/view.py" />
            <source>Context management is off</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/charts.py" />
            <source>Context: {parts}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/rows.py" />
            <source>Cut short</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/window/window_breakdown.py" />
            <source>Effort {effort}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/window/window_breakdown.py" />
            <source>Effort {effort}, {names}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/view.py" />
            <source>Entries</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/window/window_breakdown.py" />
            <location filename="../../helix_desktop/ui/inspector/from_window.py" />
            <source>Environment</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/view.py" />
            <source>Estimated</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/rows.py" />
            <source>Extract</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/window/window_breakdown.py" />
            <source>First in every request</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/window/window_breakdown.py" />
            <source>For all workspaces</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/window/window_breakdown.py" />
            <source>For this run</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/window/window_breakdown.py" />
            <source>For this workspace</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/from_window.py" />
            <source>Free</source>
            <comment>of the context window</comment>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/context/window/window_breakdown.py" />
            <source>From %n servers in Settings → MCP servers</source>
            <translation>
                <numerusform>From %n server in Settings → MCP servers</numerusform>
                <numerusform>From %n servers in Settings → MCP servers</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/context/window/window_breakdown.py" />
            <source>From the session “{title}”</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/window/window_breakdown.py" />
            <location filename="../../helix_desktop/ui/inspector/from_window.py" />
            <source>Handover</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/from_window.py" />
            <source>Helix's count {counted} · total {total}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/window/window_breakdown.py" />
            <source>Images</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/rows.py" />
            <source>Images cached</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/rows.py" />
            <source>In full</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/from_window.py" />
            <source>Instructions</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/window/window_breakdown.py" />
            <source>It can't be read</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/forecast_texts.py" />
            <source>It comes sooner after a pause of {time}, when the provider's cache has expired.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/window/window_breakdown.py" />
            <source>It isn't text</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/view.py" />
            <source>Kept out of context</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/provider_cache_card.py" />
            <source>Lifetime asked for</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/from_window.py" />
            <source>MCP tools</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/window/window_breakdown.py" />
            <source>Merged notes</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/provider_cache_card.py" />
            <source>New</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/window/window_breakdown.py" />
            <source>New on disk</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/request_list.py" />
            <location filename="../../helix_desktop/ui/inspector/view.py" />
            <source>Next request</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/rows.py" />
            <source>Not read</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/charts.py" />
            <location filename="../../helix_desktop/ui/inspector/rows.py" />
            <source>Noted</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/charts.py" />
            <source>Noted as observations</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/window/window_breakdown.py" />
            <location filename="../../helix_desktop/ui/inspector/from_window.py" />
            <source>Noted steps</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/inspector/forecast_texts.py" />
            <source>Notes old steps in about %n model calls · {tokens} tokens</source>
            <translation>
                <numerusform>Notes old steps in about %n model call · {tokens} tokens</numerusform>
                <numerusform>Notes old steps in about %n model calls · {tokens} tokens</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/forecast_texts.py" />
            <source>Notes old steps with the next request · {tokens} tokens</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/view.py" />
            <source>Nothing to send yet. The next request appears here.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/window/window_breakdown.py" />
            <location filename="../../helix_desktop/ui/inspector/from_window.py" />
            <source>Observations</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/forecast_texts.py" />
            <source>Observations are written when unobserved messages fill {share}; now they fill {used}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/view.py" />
            <source>On disk</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/window/window_breakdown.py" />
            <source>Over the size limit</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/request_list.py" />
            <source>Pin in context</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/from_window.py" />
            <location filename="../../helix_desktop/ui/inspector/rows.py" />
            <source>Pinned</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/window/window_breakdown.py" />
            <source>Pinned by you</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/rows.py" />
            <source>Preview</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/provider_cache_card.py" />
            <source>Provider cache</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/from_window.py" />
            <source>Provider's count differs</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/provider_cache_card.py" />
            <source>Read</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/forecast_texts.py" />
            <source>Ready to be cached: {tokens} tokens.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/from_window.py" />
            <location filename="../../helix_desktop/ui/inspector/rows.py" />
            <source>Recalled</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/rows.py" />
            <source>Removed</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/window/window_breakdown.py" />
            <source>Removed steps</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/rows.py" />
            <source>Removed to fit the context window. The agent can recall it.</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/context/window/window_breakdown.py" />
            <source>Replaces %n messages, up to e{last}</source>
            <translation>
                <numerusform>Replaces %n message, up to e{last}</numerusform>
                <numerusform>Replaces %n messages, up to e{last}</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/context/window/window_breakdown.py" />
            <source>Replaces %n steps, e{first} to e{last}</source>
            <translation>
                <numerusform>Replaces %n step, e{first} to e{last}</numerusform>
                <numerusform>Replaces %n steps, e{first} to e{last}</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/view.py" />
            <source>Request</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/window/window_breakdown.py" />
            <source>Requested by the agent</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/from_window.py" />
            <source>Reserved for output</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/window/window_breakdown.py" />
            <source>Sent once, with the first message</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/provider_cache_card.py" />
            <source>Session cost</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/provider_cache_card.py" />
            <source>Share of the input tokens that were read from the provider cache.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/provider_cache_card.py" />
            <source>Show all requests</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/request_list.py" />
            <source>Show in chat</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/view.py" />
            <source>Show request as text</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/request_list.py" />
            <source>Show sent text</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/window/window_breakdown.py" />
            <source>Step {number}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/charts.py" />
            <location filename="../../helix_desktop/ui/inspector/rows.py" />
            <source>Summarized</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/window/window_breakdown.py" />
            <location filename="../../helix_desktop/ui/inspector/from_window.py" />
            <source>System prompt</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/window/window_breakdown.py" />
            <source>The agent asked for: {instructions}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/window/window_breakdown.py" />
            <source>The agent didn't choose in time</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/window/window_breakdown.py" />
            <source>The agent works in {folder}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/window/window_breakdown.py" />
            <source>The file was deleted</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/window/window_breakdown.py" />
            <source>The instructions before it take all the room there is for them</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/forecast_texts.py" />
            <source>The next change resends {resent} tokens once, and every later request has {saved} tokens less.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/from_window.py" />
            <source>The provider counts tokens differently. The total uses its count; each row uses Helix's own.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/charts.py" />
            <source>Tokens saved: {parts}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/from_window.py" />
            <source>Tool outputs</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/from_window.py" />
            <source>Tools</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/request_list.py" />
            <source>Unpin</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/view.py" />
            <source>What comes next</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/window/window_breakdown.py" />
            <source>What the agent can do</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/view.py" />
            <source>Write a message</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/provider_cache_card.py" />
            <source>Written</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/from_window.py" />
            <source>You</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/window/window_breakdown.py" />
            <source>You asked for: {instructions}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/window/window_breakdown.py" />
            <source>Your message</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/view.py" />
            <source>of {size} tokens</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/rows.py" />
            <source>{difference} tokens</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/charts.py" />
            <source>{excess} tokens over the context window of {size}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/forecast_texts.py" />
            <source>{minutes} min</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/window/window_breakdown.py" />
            <source>{reason} · full output in the cache</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/window/window_breakdown.py" />
            <source>{reason} · the file has {size}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/window/window_breakdown.py" />
            <source>{size} in the cache</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/view.py" />
            <source>{tokens} tokens</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/inspector/from_cache_uses.py" />
            <source>{tokens} tokens sent</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>MCP</name>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/workspaces/mcp_consent_banner.py" />
            <source>%n MCP servers need your approval: {names}.</source>
            <translation>
                <numerusform>The MCP server {names} needs your approval.</numerusform>
                <numerusform>%n MCP servers need your approval: {names}.</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/mcp_consent_banner.py" />
            <source>A new or changed server starts only after you approve it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/mcp_server.py" />
            <source>A server named {name} already exists.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/mcp/config_import.py" />
            <location filename="../../helix_desktop/services/mcp/servers.py" />
            <source>A workspace can have at most {count} servers.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/mcp/servers.py" />
            <source>Add it again.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/mcp/config_import.py" />
            <source>Add the command to start.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/mcp/servers.py" />
            <source>Another server is now named {name}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/mcp/server/http_server.py" />
            <source>Choose another port, or 0 for any free one.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/mcp/config_import.py" />
            <source>Close every quote.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/mcp/client/process.py" />
            <source>Correct the server's folder.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/mcp/config_import.py" />
            <source>Each server needs a "command" or a "url".</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/mcp_server.py" />
            <source>Enter a command to start, or the https:// address of a running server.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/mcp/client/server_actor.py" />
            <source>Enter it again.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/mcp/client/process.py" />
            <source>Folder {folder} not found.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/mcp/client/process.py" />
            <source>Install it, or enter its full path.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/mcp/client/process.py" />
            <source>It ended with exit code {code}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/mcp/client/process.py" />
            <source>It isn't installed, isn't executable or isn't in PATH.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/mcp/client/process.py" />
            <source>It was ended by signal {number}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/mcp/client/process.py" />
            <source>It was ended by {signal}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/mcp/client/server_actor.py" />
            <source>Its last output: {line}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/mcp/client/exposed_tool.py" />
            <source>Its name is empty, too long or contains hidden characters.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/mcp/servers.py" />
            <source>Kept in {keychain}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/mcp/servers.py" />
            <source>Kept until Helix Desktop closes: {reason}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/mcp/config_import.py" />
            <source>MCP replaced it in 2025.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/mcp/config_import.py" />
            <source>Nothing to add.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/mcp/config_import.py" />
            <source>Paste a command line, a URL, or a JSON block.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/mcp/config_import.py" />
            <source>Paste fewer.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/mcp/config_import.py" />
            <source>Paste the block that starts with "mcpServers".</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/mcp/config_import.py" />
            <source>Paste the whole block.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/mcp/server/http_server.py" />
            <source>Port {port} can't be used on this computer.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/mcp/client/process.py" />
            <source>Program {program} not found.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/mcp/servers.py" />
            <source>Remove some first.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/mcp_server.py" />
            <source>Remove the header {name}: the protocol sets it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/mcp/servers.py" />
            <source>Rename or remove it first.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/mcp/servers.py" />
            <source>Review it again.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/mcp_consent_banner.py" />
            <source>Review…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/mcp_server.py" />
            <source>Secrets would be sent unencrypted. Use https://, or http:// only on this computer.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/mcp/config_import.py" />
            <source>The "args" of {name} must be a list.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/mcp_server.py" />
            <source>The address must start with http:// or https://.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/mcp/config_import.py" />
            <source>The block doesn't describe a server.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/mcp/config_import.py" />
            <source>The block has {count}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/mcp/config_import.py" />
            <source>The block isn't valid JSON.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/mcp_server.py" />
            <source>The command contains unprintable characters.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/mcp/config_import.py" />
            <source>The command is missing.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/mcp/config_import.py" />
            <source>The command line can't be read.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/mcp/client/server_actor.py" />
            <source>The keychain doesn't have it, or can't be read now.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/mcp/config_import.py" />
            <source>The line only sets variables.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/mcp/client/server_actor.py" />
            <source>The secret {name} of {server} is missing.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/mcp/client/server_actor.py" />
            <source>The server ended before it was ready.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/mcp/client/server_actor.py" />
            <source>The server ended.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/mcp/servers.py" />
            <source>The server isn't complete yet.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/mcp/client/server_actor.py" />
            <source>The server wasn't ready within {seconds} s.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/mcp/servers.py" />
            <source>The server {name} doesn't exist anymore.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/mcp/servers.py" />
            <source>The server {name} isn't complete yet.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/mcp/config_import.py" />
            <source>The server {name} uses the old SSE transport.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/mcp_server.py" />
            <source>The value of {name} must be on one line.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/mcp/config_import.py" />
            <source>The variables or headers of {name} can't be read.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/mcp_server.py" />
            <source>Use 1 to 32 lowercase letters, digits, - and single _. Start and end with a letter or digit.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/mcp/config_import.py" />
            <source>Use its streamable HTTP address, which often ends in /mcp.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/mcp/config_import.py" />
            <source>Write each as "NAME": "value".</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/mcp/config_import.py" />
            <source>Write them as a list, such as ["--port", "8080"].</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/mcp/servers.py" />
            <source>this system has no keychain</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/mcp_server.py" />
            <source>{name} appears twice. Remove one.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/mcp_server.py" />
            <source>{name} isn't a valid header name.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/mcp_server.py" />
            <source>{name} isn't a valid variable name.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/mcp/servers.py" />
            <source>{name} was changed in the meantime.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/mcp/client/process.py" />
            <source>{program} couldn't be started.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/mcp/config_import.py" />
            <source>{reason}.</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Models</name>
        <message>
            <location filename="../../helix_desktop/services/models.py" />
            <source>A base URL also needs a model.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/provider_check.py" />
            <source>A server answers at this address.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/provider_check.py" />
            <source>Accepted for the list of models.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/provider_check.py" />
            <source>Add a model to test this.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/models.py" />
            <source>Add it in Settings → Providers, or add --base-url URL and set {variables}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/models.py" />
            <source>Add {option}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/provider_check.py" />
            <source>An earlier step failed.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/provider_check.py" />
            <source>Answered in {duration} ms.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/provider_check.py" />
            <source>Asking for a tool call…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/provider_check.py" />
            <source>Asking {model}…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/provider_check.py" />
            <source>Called {tool} as asked.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/provider_check.py" />
            <source>Choose a model that supports tools. llama.cpp needs --jinja. vLLM needs --enable-auto-tool-choice and the model's --tool-call-parser.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/provider_changes.py" />
            <source>Choose another name.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/provider_check.py" />
            <source>Empty response.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/models.py" />
            <source>Enter its value in Settings → Providers, under Extra headers and fields, or set {variable}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/models.py" />
            <source>Enter the key in Settings → Providers, or set {variable}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/efforts.py" />
            <source>Extra high</source>
            <comment>reasoning effort</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/key_status.py" />
            <source>From the environment variable {name}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/efforts.py" />
            <source>High</source>
            <comment>reasoning effort</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/provider_check.py" />
            <source>It answered in words: {excerpt}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/provider_check.py" />
            <source>It called {tool} with {arguments}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/provider_check.py" />
            <source>Its arguments aren't valid JSON.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/key_status.py" />
            <source>Kept in {keychain}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/key_status.py" />
            <source>Kept until Helix Desktop closes: {reason}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/provider_check.py" />
            <source>Key accepted.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/efforts.py" />
            <source>Low</source>
            <comment>reasoning effort</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/efforts.py" />
            <source>Max</source>
            <comment>reasoning effort</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/efforts.py" />
            <source>Medium</source>
            <comment>reasoning effort</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/efforts.py" />
            <source>Minimal</source>
            <comment>reasoning effort</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/provider_check.py" />
            <source>No key needed.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/models.py" />
            <source>No provider is set up yet.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/efforts.py" />
            <source>No reasoning</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/provider_check.py" />
            <source>No token usage reported: the usage shown is estimated.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/provider_check.py" />
            <source>Not used: others on the network can read everything.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/provider_check.py" />
            <source>Not used: the connection stays on this computer.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/provider_check.py" />
            <source>Nothing was sent.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/models.py" />
            <source>Offline demo model</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/efforts.py" />
            <source>Provider default</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/provider_check.py" />
            <source>Retrying in {seconds} s: {reason}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/models.py" />
            <source>Set {variables} to a valid key.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/provider_check.py" />
            <source>The answer arrived all at once.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/models.py" />
            <source>The base URL must be a web address (got {value}).</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/models.py" />
            <source>The known providers are {providers}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/provider_check.py" />
            <source>The model didn't answer.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/models.py" />
            <source>The model is missing.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/models.py" />
            <source>The model must be PROVIDER/NAME (got {value}).</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/provider_changes.py" />
            <source>The provider {name} already exists.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/provider_check.py" />
            <source>The server has no list of models. Asking the model…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/provider_check.py" />
            <source>The server listed its models. Asking the model…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/models.py" />
            <source>Unknown provider: {name}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/models.py" />
            <source>Use one word as the provider's name.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/key_status.py" />
            <source>Will be kept in {keychain}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/key_status.py" />
            <source>Will be kept until Helix Desktop closes: {reason}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/models.py" />
            <source>Without a model</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/models.py" />
            <source>Write it as {form}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/key_status.py" />
            <source>the keychain didn't store it</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/provider_check.py" />
            <source>{count} pieces, the first after {seconds} s.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/models.py" />
            <source>{first} or {other}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/provider_check.py" />
            <source>{model} didn't call the tool as asked.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/efforts.py" />
            <source>{model} doesn't accept this reasoning effort: {effort}. Requests continue without it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/provider_check.py" />
            <source>{version}, with a certificate that this system trusts.</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Numbers</name>
        <message>
            <location filename="../../helix_desktop/words/numbers.py" />
            <source>${amount}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/numbers.py" />
            <source>&lt; ${amount}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/numbers.py" />
            <source>{before} → {after} tokens</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/numbers.py" />
            <source>{number} %</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/numbers.py" />
            <source>{number} B</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/numbers.py" />
            <source>{number} GB</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/numbers.py" />
            <source>{number} KB</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/numbers.py" />
            <source>{number} MB</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/numbers.py" />
            <source>{number}M</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/numbers.py" />
            <source>{number}k</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Prompt files</name>
        <message>
            <location filename="../../helix_desktop/services/prompt_files.py" />
            <source>Did you mean {command}?</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/tools/files/prompt_files.py" />
            <source>It has {size}; the limit is {limit}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/tools/files/prompt_files.py" />
            <source>It isn't UTF-8 text.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/tools/files/prompt_files.py" />
            <source>Its name can't be typed as a command.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/tools/files/prompt_files.py" />
            <source>Move files that you don't need elsewhere.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/tools/files/prompt_files.py" />
            <source>Only the first {count} prompt files of a folder are read.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/prompt_files.py" />
            <source>Prompt files of this folder aren't read until you trust it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/tools/files/prompt_files.py" />
            <source>Replace it with a file or folder of its own, not a link.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/tools/files/prompt_files.py" />
            <source>Save it as UTF-8 text.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/tools/files/prompt_files.py" />
            <source>Shorten it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/prompt_files.py" />
            <source>To send it as a message, put a space before the slash.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/tools/files/prompt_files.py" />
            <source>Use letters, digits, “-” and “_” in the names of files and folders.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/prompt_files.py" />
            <source>Write a prompt in it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/prompt_files.py" />
            <source>{command} can't be used: {file}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/prompt_files.py" />
            <source>{command} is empty.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/prompt_files.py" />
            <source>{command} isn't a command.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/prompt_files.py" />
            <source>{file} contains characters that can't be seen.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/prompt_files.py" />
            <source>{file} has no text.</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/prompt_files.py" />
            <source>{file}: %n lines ({lines}) are commands in other agents. Here they're text; nothing is run.</source>
            <translation>
                <numerusform>{file}: line {lines} is a command in other agents. Here it's text; nothing is run.</numerusform>
                <numerusform>{file}: %n lines ({lines}) are commands in other agents. Here they're text; nothing is run.</numerusform>
            </translation>
        </message>
    </context>
    <context>
        <name>Provider cache</name>
        <message>
            <location filename="../../helix_desktop/words/provider_cache.py" />
            <source>A change was redone</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/provider_cache.py" />
            <source>A change was undone</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/provider_cache.py" />
            <source>An output got another form</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/provider_cache.py" />
            <source>An output was pinned</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/provider_cache.py" />
            <source>An output was unpinned</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/provider_cache.py" />
            <source>Another model answered before: {model}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/provider_cache.py" />
            <source>First request of the session.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/provider_cache.py" />
            <source>Messages were summarized</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/provider_cache.py" />
            <source>Observations replaced messages</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/provider_cache.py" />
            <source>Outputs were cached</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/provider_cache.py" />
            <source>Steps were noted</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/provider_cache.py" />
            <source>The provider doesn't report its cache.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/provider_cache.py" />
            <source>The provider reported a miss although nothing changed.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/provider_cache.py" />
            <source>The reasoning effort changed.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/provider_cache.py" />
            <source>The request before was below the provider's minimum size.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/provider_cache.py" />
            <source>The system prompt changed.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/provider_cache.py" />
            <source>The text of notes or summaries changed.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/provider_cache.py" />
            <source>The tools changed.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/provider_cache.py" />
            <source>{hours} h</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/provider_cache.py" />
            <source>{hours} {minutes} min</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/provider_cache.py" />
            <source>{minutes} min</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/provider_cache.py" />
            <source>{tokens} new</source>
            <comment>input tokens not cached by the provider</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/provider_cache.py" />
            <source>{tokens} read</source>
            <comment>from the provider cache</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/provider_cache.py" />
            <source>{tokens} written</source>
            <comment>to the provider cache</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/provider_cache.py" />
            <source>{waited} since the request before; the provider cache lasts {lifetime}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/provider_cache.py" />
            <source>{what} ({event}).</source>
            <comment>a change, and its event</comment>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Providers</name>
        <message>
            <location filename="../../helix_desktop/domain/model_spec.py" />
            <source>1/16 of the context window, within limits</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/empty_response.py" />
            <source>A tool call from {provider} has no name.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/endpoint.py" />
            <source>API keys are never sent on to another address.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/endpoint.py" />
            <source>Add credit there, or choose another model.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/endpoint.py" />
            <source>Can't reach {provider} at {url}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/endpoint.py" />
            <source>Check http:// or https:// in the base URL.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/empty_response.py" />
            <source>Check that the base URL is for a chat model, and check the API type.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/endpoint.py" />
            <source>Check that the server is running, and check the base URL and the network.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/endpoint.py" />
            <source>Check the API key's permissions and the model's name.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/streaming.py" />
            <source>Check the API type and the base URL {url}: most end in /v1.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/model_list.py" />
            <source>Check the base URL {url}: most end in /v1.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/endpoint.py" />
            <source>Check the model's name and the base URL {url}: most end in /v1.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/http.py" />
            <source>Check the proxy settings of the system, and that the proxy allows this address.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/http.py" />
            <source>Check this computer's clock, or ask the server's owner to renew the certificate.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/endpoint.py" />
            <source>Choose another model.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/anthropic/response.py" />
            <location filename="../../helix_desktop/providers/endpoint.py" />
            <source>Compact the conversation, or correct the context window in Settings → Providers.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/endpoint.py" />
            <source>Correct what the server names, or choose another model.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/empty_response.py" />
            <source>Empty response from {provider}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/endpoint.py" />
            <source>Enter a valid API key in Settings → Providers.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/endpoint.py" />
            <source>Enter its value in Settings → Providers, under Extra headers and fields.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/endpoint.py" />
            <source>Enter the base URL as https://host/v1 in Settings → Providers.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/endpoint.py" />
            <source>Enter the new base URL in Settings → Providers.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/http.py" />
            <source>For your own server or company proxy, add its authority to the system's trust store.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/local_servers.py" />
            <source>From the server's list of models</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/http.py" />
            <source>In the base URL, use the name that the certificate is for.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/streaming.py" />
            <source>Invalid response from {provider}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/endpoint.py" />
            <source>It contains characters that API keys don't have.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/empty_response.py" />
            <source>It ended without text or a tool call.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/streaming.py" />
            <source>It sent too much at once ({detail}).</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/empty_response.py" />
            <source>It was blocked before the first word.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/endpoint.py" />
            <source>Its value has characters that headers can't have.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/endpoint.py" />
            <source>Model {model} not found on {provider}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/endpoint.py" />
            <source>No connection ({detail})</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/endpoint.py" />
            <source>No secure connection ({detail}).</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/endpoint.py" />
            <source>No tools ran. Try again, or choose another model.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/endpoint.py" />
            <source>No value is stored for this address.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/local_servers.py" />
            <source>Ollama: num_ctx in the model file</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/streaming.py" />
            <source>Part of the response was damaged</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/empty_response.py" />
            <source>Raise the server's output limit, or choose a model with a larger context window.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/tiktoken_counter.py" />
            <source>Reinstall Helix Desktop.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/empty_response.py" />
            <source>Rephrase the message, or choose another model.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/empty_response.py" />
            <source>Send the message again, or choose another model.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/http.py" />
            <source>Set an http:// proxy in the system's network settings or in HTTPS_PROXY, or none.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/endpoint.py" />
            <source>The API key for {provider} is invalid.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/endpoint.py" />
            <source>The account at {provider} has no credit left.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/http.py" />
            <source>The certificate for {host} isn't trusted by this system ({detail}).</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/http.py" />
            <source>The certificate for {host} isn't valid now ({detail}).</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/http.py" />
            <source>The certificate isn't for {host} ({detail}).</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/http.py" />
            <source>The connection through the system's proxy {proxy} failed ({detail}).</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/anthropic/response.py" />
            <source>The context window was full before the first word.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/request_extras.py" />
            <source>The field {name} can't be added: Helix makes the request of it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/request_extras.py" />
            <source>The field {name} can't be added: enter it as the model's max output.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/request_extras.py" />
            <source>The field {name} can't be null: leave it out instead.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/request_extras.py" />
            <source>The header {name} can't be added: Helix sets it for every request.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/request_extras.py" />
            <source>The header {name} can't be added: it carries the API key. Enter the key instead.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/request_extras.py" />
            <source>The header {name} is listed twice.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/tiktoken_counter.py" />
            <source>The known ones are {names}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/empty_response.py" />
            <source>The model or its server can't call tools correctly.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/empty_response.py" />
            <source>The output limit was used up before the first word.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/http.py" />
            <source>The proxy settings of this system can't be used ({detail}).</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/endpoint.py" />
            <source>The request exceeds the context window of {model}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/endpoint.py" />
            <source>The request exceeds the model's context window.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/anthropic/response.py" />
            <source>The request leaves {provider} no room to answer.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/endpoint.py" />
            <source>The response from {provider} is incomplete.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/empty_response.py" />
            <source>The response has no {field} field.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/endpoint.py" />
            <source>The response stopped early</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/endpoint.py" />
            <source>The secret header {name} of {provider} has no value.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/endpoint.py" />
            <source>The secret header {name} of {provider} is invalid.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/retry.py" />
            <source>The server asks to wait {duration}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/endpoint.py" />
            <source>The server kept the connection open but sent nothing</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/error_classification.py" />
            <source>The server sent a web page.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/error_classification.py" />
            <source>The server sent nothing.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/error_classification.py" />
            <source>The server sent: {line}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/endpoint.py" />
            <source>The server stopped responding</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/request_extras.py" />
            <source>The value of {name} has characters that headers can't have.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/tiktoken_counter.py" />
            <source>The vocabulary {name} can't be read.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/tiktoken_counter.py" />
            <source>The vocabulary {name} is damaged.</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/providers/retry.py" />
            <source>Tried %n times in {duration}.</source>
            <translation>
                <numerusform>Tried %n time in {duration}.</numerusform>
                <numerusform>Tried %n times in {duration}.</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/providers/endpoint.py" />
            <source>Try again later, or choose another model.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/empty_response.py" />
            <source>Try again. If it happens again, check the model's context window on the server.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/tiktoken_counter.py" />
            <source>Unknown vocabulary {name}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/model_spec.py" />
            <source>assumed</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/model_spec.py" />
            <source>assumed: no source reports its size</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/local_servers.py" />
            <source>llama.cpp: started with this n_ctx</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/local_servers.py" />
            <source>llama.cpp: started with this n_ctx for each of its {slots} slots</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/local_servers.py" />
            <source>vLLM: started with this max_model_len</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/tiktoken_counter.py" />
            <source>{file} has the digest {actual}, not {expected}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/request_extras.py" />
            <source>{name} isn't a header name: use letters, digits and hyphens.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/retry.py" />
            <source>{number} min</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/retry.py" />
            <source>{number} s</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/empty_response.py" />
            <source>{provider} blocked the response (content filter).</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/endpoint.py" />
            <source>{provider} couldn't answer ({status}).</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/endpoint.py" />
            <source>{provider} denied access.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/model_list.py" />
            <source>{provider} didn't return a list of models.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/endpoint.py" />
            <source>{provider} rejected an image.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/endpoint.py" />
            <source>{provider} rejected the API key.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/endpoint.py" />
            <source>{provider} rejected the request ({status}).</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/endpoint.py" />
            <source>{provider} requires an API key.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/endpoint.py" />
            <source>{reason} ({detail}).</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/retry.py" />
            <source>{sentence}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/local_servers.py" />
            <source>{server}'s smallest default, though the model supports {tokens}: test the model to detect the size</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/local_servers.py" />
            <source>{server}'s smallest default: test the model to detect the size</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/local_servers.py" />
            <source>{server}: loaded with this size</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/config/model_catalog.py" />
            <source>{source}; matched by name, on another server</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/config/model_catalog.py" />
            <source>{source}; prices {condition}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/endpoint.py" />
            <source>{status}: {message}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/endpoint.py" />
            <source>{url} redirects to another address.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/endpoint.py" />
            <source>{url} redirects to {place}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/providers/endpoint.py" />
            <source>{url} returned 404 (Not Found).</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Remove a secret</name>
        <message>
            <location filename="../../helix_desktop/ui/redaction/dialog.py" />
            <source>Also finds JSON-escaped and URL-encoded forms, and Base64 of texts with at least {count} characters. Base64 split over lines isn't found.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/redaction/dialog.py" />
            <source>Backups and exported files aren't changed.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/redaction/dialog.py" />
            <source>Cancel</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/redaction/dialog.py" />
            <source>Close</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/redaction/dialog.py" />
            <source>Find occurrences</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/redaction/dialog.py" />
            <source>More text to remove (optional)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/redaction/dialog.py" />
            <source>No occurrences found.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/redaction/dialog.py" />
            <source>Paste the exact text</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/redaction/dialog.py" />
            <source>Providers that received it still have it. Change the password or revoke the key there.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/redaction/dialog.py" />
            <source>Remove a secret</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/redaction/dialog.py" />
            <source>Remove permanently</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/redaction/dialog.py" />
            <source>Removes a password, a key or other text from this workspace's data and from the app's logs. This can't be undone.</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/redaction/dialog.py" />
            <source>Removing, then checking: {done} of %n cached outputs</source>
            <translation>
                <numerusform>Removing, then checking: {done} of %n cached output</numerusform>
                <numerusform>Removing, then checking: {done} of %n cached outputs</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/ui/redaction/dialog.py" />
            <source>Running agents in this workspace are stopped. Open sessions are reloaded.</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/redaction/dialog.py" />
            <source>Searching: {done} of %n cached outputs</source>
            <translation>
                <numerusform>Searching: {done} of %n cached output</numerusform>
                <numerusform>Searching: {done} of %n cached outputs</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/ui/redaction/dialog.py" />
            <source>Stop</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/redaction/dialog.py" />
            <source>Text to remove</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/redaction/dialog.py" />
            <source>The stored data was rewritten without it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/redaction/dialog.py" />
            <source>Type “{word}” to confirm</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/redaction/dialog.py" />
            <source>remove</source>
            <comment>what the user types to confirm</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/redaction/dialog.py" />
            <source>{output}, wherever it was shown</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Replay</name>
        <message>
            <location filename="../../helix_desktop/replay/parallel.py" />
            <source>A measuring process ended unexpectedly.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/replayer.py" />
            <source>A system message came late.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/report.py" />
            <source>CPU time per message, p50 ms</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/report.py" />
            <source>CPU time per message, p95 ms</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/report.py" />
            <source>CPU time per request, p50 ms</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/report.py" />
            <source>CPU time per request, p95 ms</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/replayer.py" />
            <source>It must be the first message.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/recording.py" />
            <source>Line {line}: {reason}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/replayer.py" />
            <source>No open call has the id {id}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/recording.py" />
            <source>No recordings in {folder}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/replayer.py" />
            <source>No single content begins with {handle}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/replayer.py" />
            <source>Profile {name} not found.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/recording.py" />
            <source>Recordings end in {plain} or {compressed}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/report.py" />
            <source>System prompt and built-in tools: {tokens} tokens ({system} and {tools})</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/recording.py" />
            <source>The recording {path} can't be read.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/recording.py" />
            <source>The recording {path} can't be used.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/parallel.py" />
            <source>The system may be out of memory.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/parallel.py" />
            <source>Try again with {option}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/replayer.py" />
            <source>Unknown role: {role}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/recording.py" />
            <source>Use one JSON message per line, as described by {command}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/replayer.py" />
            <source>Use one of {profiles}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/replayer.py" />
            <source>Use one of {roles}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/recording.py" />
            <source>a call has no id</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/report.py" />
            <source>a rule in a 3,000-token message is still in the context, % of recordings</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/recording.py" />
            <source>a system message must be the first</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/recording.py" />
            <source>a user message must come before the first assistant message</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/report.py" />
            <source>all</source>
            <comment>all recordings, as a column of a table</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/report.py" />
            <source>billed with a cache of 5 minutes, % of unmanaged</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/report.py" />
            <source>billed without a cache, % of unmanaged</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/report.py" />
            <source>billed, % of unmanaged</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/report.py" />
            <source>call arguments that can be recalled, % of bytes</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/report.py" />
            <source>environment, told once per session: {tokens} tokens</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/report.py" />
            <source>heavy recordings</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/report.py" />
            <source>identifiers of the next call in the context, %</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/report.py" />
            <source>identifiers outside the context that one call finds, %</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/report.py" />
            <source>input, % of unmanaged</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/report.py" />
            <source>invalid requests</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/report.py" />
            <source>last seen more than 20 model calls ago</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/report.py" />
            <source>last seen more than 5 model calls ago</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/report.py" />
            <source>mean context, % of the context window</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/report.py" />
            <source>mean context, % of unmanaged</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/report.py" />
            <source>mean of recordings</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/report.py" />
            <source>median peak, % of the context window</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/report.py" />
            <source>median peak, % of unmanaged</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/report.py" />
            <source>model calls</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/recording.py" />
            <source>no open call has the id {id}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/report.py" />
            <source>observations</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/report.py" />
            <source>of those outside it, model calls since they last occurred, p50 / p90</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/report.py" />
            <source>of those outside it, model calls since they were in it, p50 / p90</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/report.py" />
            <source>output tokens saved, %</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/report.py" />
            <source>outputs in the context, % of bytes</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/report.py" />
            <source>outputs that can be recalled, % of bytes</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/report.py" />
            <source>recordings</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/report.py" />
            <source>refined observations</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/report.py" />
            <source>requests over the context window</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/report.py" />
            <source>requests that couldn't be made</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/report.py" />
            <source>requests that don't continue the one before</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/report.py" />
            <source>simulated recalls</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/report.py" />
            <source>summaries and observations per recording</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/report.py" />
            <source>summaries without a model</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/report.py" />
            <source>summarizing calls per recording</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/recording.py" />
            <source>the call id {id} is used twice</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/recording.py" />
            <source>the compressed data is damaged or cut off: {reason}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/recording.py" />
            <source>the file ends before the outputs of {calls}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/recording.py" />
            <source>the line is longer than {size} bytes</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/recording.py" />
            <source>the outputs of {calls} are missing before this {role} message</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/recording.py" />
            <source>the recording has no assistant message to replay</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/report.py" />
            <source>times messages were summarized</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/report.py" />
            <source>times outputs were cached</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/report.py" />
            <source>times steps were noted</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/report.py" />
            <source>tokens of that call, median</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/report.py" />
            <source>{file}: lost {calls}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/report.py" />
            <source>{file}: {problem}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/replay/recording.py" />
            <source>{reason}.</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Self-check</name>
        <message numerus="yes">
            <location filename="../../helix_desktop/diagnostics/checks/machine.py" />
            <source>%n certificate authorities</source>
            <translation>
                <numerusform>%n certificate authority</numerusform>
                <numerusform>%n certificate authorities</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/diagnostics/checks/bundled.py" />
            <source>%n components with their license texts</source>
            <translation>
                <numerusform>%n component with its license text</numerusform>
                <numerusform>%n components with their license texts</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/diagnostics/checks/rendering.py" />
            <source>%n icons</source>
            <translation>
                <numerusform>%n icon</numerusform>
                <numerusform>%n icons</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/diagnostics/self_check.py" />
            <source>%n of {checks} checks failed</source>
            <translation>
                <numerusform>%n of {checks} checks failed</numerusform>
                <numerusform>%n of {checks} checks failed</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/diagnostics/checks/subprocesses.py" />
            <source>%n variables, all your own</source>
            <translation>
                <numerusform>%n variable, your own</numerusform>
                <numerusform>%n variables, all your own</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/diagnostics/checks/rendering.py" />
            <source>All icons are missing.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/diagnostics/self_check.py" />
            <source>Choose another name for the bundle.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/diagnostics/checks/bundled.py" />
            <source>Empty prompts: {names}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/diagnostics/checks/rendering.py" />
            <source>Fonts are missing or unreadable: {names}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/diagnostics/checks/rendering.py" />
            <source>Fonts are missing, or Qt is damaged.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/diagnostics/checks/rendering.py" />
            <source>Icons can't be drawn: {names}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/diagnostics/checks/machine.py" />
            <source>Install {package}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/diagnostics/checks/machine.py" />
            <location filename="../../helix_desktop/diagnostics/checks/subprocesses.py" />
            <source>It exited with code {code}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/diagnostics/checks/machine.py" />
            <source>LevelDB returned different bytes than were written.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/diagnostics/checks/bundled.py" />
            <source>License texts are missing: {names}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/diagnostics/checks/bundled.py" />
            <source>Missing in {folder}: {names}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/diagnostics/checks/machine.py" />
            <source>No certificate authorities found.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/diagnostics/checks/rendering.py" />
            <source>No text was painted.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/diagnostics/checks/bundled.py" />
            <source>Only {prompts} prompts and {tools} tools found.</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/diagnostics/checks/subprocesses.py" />
            <source>Python runs the sample's %n tests</source>
            <translation>
                <numerusform>Python runs the sample's %n test</numerusform>
                <numerusform>Python runs the sample's %n tests</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/diagnostics/checks/subprocesses.py" />
            <source>Qt can't paint.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/diagnostics/checks/rendering.py" />
            <source>Qt can't read {formats}.</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/diagnostics/checks/rendering.py" />
            <source>Qt's own texts in %n languages in {folder}</source>
            <translation>
                <numerusform>Qt's own texts in %n language in {folder}</numerusform>
                <numerusform>Qt's own texts in %n languages in {folder}</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/diagnostics/checks/rendering.py" />
            <source>Qt's translations are missing in {folder}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/diagnostics/checks/bundled.py" />
            <location filename="../../helix_desktop/diagnostics/checks/machine.py" />
            <location filename="../../helix_desktop/diagnostics/checks/rendering.py" />
            <source>Reinstall Helix Desktop.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/diagnostics/checks/machine.py" />
            <source>Repair the system's trust store.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/diagnostics/checks/machine.py" />
            <source>SQLite's index doesn't find parts of words.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/diagnostics/checks/bundled.py" />
            <source>Sample projects without files: {names}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/diagnostics/self_check.py" />
            <source>Saved {file}. Read it before you share it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/diagnostics/checks/subprocesses.py" />
            <source>Started programs see Helix Desktop's variables: {names}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/diagnostics/checks/subprocesses.py" />
            <source>The cache server</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/diagnostics/checks/subprocesses.py" />
            <source>The cache server doesn't answer.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/diagnostics/checks/machine.py" />
            <source>The keychain didn't delete a key.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/diagnostics/checks/machine.py" />
            <source>The keychain didn't save a key: {problem}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/diagnostics/checks/machine.py" />
            <source>The keychain returned a different key than was saved.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/diagnostics/checks/bundled.py" />
            <source>The model catalog is empty.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/diagnostics/checks/subprocesses.py" />
            <source>The rendering check</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/diagnostics/checks/subprocesses.py" />
            <source>The sample's Python</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/diagnostics/checks/subprocesses.py" />
            <source>The sample's tests don't run.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/diagnostics/checks/bundled.py" />
            <source>The script for {sample} is missing.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/diagnostics/checks/machine.py" />
            <source>Unlock the keychain, or start one.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/diagnostics/checks/machine.py" />
            <source>Without them, no server can be trusted.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/diagnostics/checks/machine.py" />
            <source>a key was saved, read back and deleted (keychain: {name})</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/diagnostics/self_check.py" />
            <source>all checks passed</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/diagnostics/checks/machine.py" />
            <source>checked by the system</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/diagnostics/checks/machine.py" />
            <source>no keychain ({problem}); keys come from the environment or last for one run</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/diagnostics/checks/rendering.py" />
            <source>painted on {platform}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/diagnostics/checks/bundled.py" />
            <source>prompts: {prompts}, tools: {tools}, model vendors: {vendors}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/diagnostics/checks/machine.py" />
            <source>ripgrep is missing.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/diagnostics/checks/bundled.py" />
            <source>scripts: {scripts}, sample projects: {projects}, files: {files}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/diagnostics/checks/subprocesses.py" />
            <source>the cache server answers with protocol {version}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/diagnostics/checks/bundled.py" />
            <source>{build}, Python {python}, Qt {qt}, LevelDB {leveldb}, SQLite {sqlite}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/diagnostics/checks/machine.py" />
            <source>{count} bytes written, closed, read back and verified</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/diagnostics/checks/rendering.py" />
            <source>{families}: %n files</source>
            <translation>
                <numerusform>{families}: %n file</numerusform>
                <numerusform>{families}: %n files</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/diagnostics/self_check.py" />
            <source>{file} already exists.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/diagnostics/checks/machine.py" />
            <source>{folder} is writable</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/diagnostics/checks/bundled.py" />
            <source>{names}: digests verified, known text counted correctly</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/diagnostics/checks/rendering.py" />
            <source>{name} as the window's icon</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/diagnostics/checks/bundled.py" />
            <source>{name} must count {expected} tokens in a known text (got {counted}).</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/diagnostics/checks/subprocesses.py" />
            <source>{program} didn't end within {seconds} seconds.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/diagnostics/checks/machine.py" />
            <source>{program} doesn't run.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/diagnostics/checks/machine.py" />
            <source>{version} in {program}; SQLite with trigrams</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Sentences</name>
        <message>
            <location filename="../../helix_desktop/domain/user_text.py" />
            <source>{text} {sentence}</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Services</name>
        <message>
            <location filename="../../helix_desktop/services/links.py" />
            <source>A link has at most {limit} characters.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/own_instructions.py" />
            <source>Check the file's permissions and the free space.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/attached_paths.py" />
            <source>Choose another file.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/backup.py" />
            <location filename="../../helix_desktop/services/entry_export.py" />
            <source>Choose another folder.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/links.py" />
            <source>Copy the whole link again, on one line.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/backup.py" />
            <source>Couldn't create the folder {folder}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/file_index.py" />
            <source>Couldn't list the files of this workspace.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/attached_paths.py" />
            <source>Couldn't read {file}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/entry_export.py" />
            <source>Couldn't save to {file}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/own_instructions.py" />
            <source>Edit it in another program; the first {limit} are sent.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/file_index.py" />
            <source>File not found: {files} (sent as text)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/app_services.py" />
            <source>Folder {folder} not found.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/sample_workspaces.py" />
            <source>Free up space in {folder}, or check its permissions.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/tool_service.py" />
            <source>Install bubblewrap to sandbox commands.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/attached_paths.py" />
            <source>It isn't a regular file</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/app_services.py" />
            <source>It may have been moved, renamed or deleted. Sessions and cache are safe.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/links.py" />
            <source>It must name a workspace, a session or a cache entry (got {link}).</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/app_services.py" />
            <source>Locate it, or remove the workspace from the list.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/tool_service.py" />
            <source>No sandbox is available on this system.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/redaction.py" />
            <source>Nothing was removed.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/redaction.py" />
            <source>Remove it in that window, or close that window and try again.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/own_instructions.py" />
            <source>Shorten them, or move parts to files that the agent can read.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/own_instructions.py" />
            <source>The instructions in {file} couldn't be read or saved.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/sample_workspaces.py" />
            <source>The sample project couldn't be copied.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/own_instructions.py" />
            <source>These instructions are too long.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/links.py" />
            <source>They could make it open something other than it shows.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/own_instructions.py" />
            <source>They have {size}; {limit} are sent.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/links.py" />
            <source>This link can't be opened.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/links.py" />
            <source>This link contains hidden characters.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/links.py" />
            <source>This link is too long.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/redaction.py" />
            <source>This workspace is open in another Helix Desktop, which would write the text again.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/own_instructions.py" />
            <source>{file} is too large to edit here.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/services/attached_paths.py" />
            <source>{reason}.</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Session</name>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/session/missing_keys.py" />
            <source>%n API keys are missing: {providers}.</source>
            <translation>
                <numerusform>The API key for {providers} is missing.</numerusform>
                <numerusform>%n API keys are missing: {providers}.</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/session/navigation.py" />
            <source>%n messages</source>
            <translation>
                <numerusform>%n message</numerusform>
                <numerusform>%n messages</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/session/background_jobs.py" />
            <source>%n queued</source>
            <translation>
                <numerusform>%n queued</numerusform>
                <numerusform>%n queued</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/session/background_jobs.py" />
            <source>%n steps</source>
            <translation>
                <numerusform>%n step</numerusform>
                <numerusform>%n steps</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/session/background_jobs.py" />
            <source>%n subagents</source>
            <translation>
                <numerusform>%n subagent</numerusform>
                <numerusform>%n subagents</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/session/background_jobs.py" />
            <source>%n thinking</source>
            <translation>
                <numerusform>%n thinking</numerusform>
                <numerusform>%n thinking</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/session/background_jobs.py" />
            <source>%n waiting for you</source>
            <translation>
                <numerusform>%n waiting for you</numerusform>
                <numerusform>%n waiting for you</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/session/background_jobs.py" />
            <source>%n working</source>
            <translation>
                <numerusform>%n working</numerusform>
                <numerusform>%n working</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/past/controller.py" />
            <source>A message that you send goes to now.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/tool_actions.py" />
            <source>A model reads the full output and extracts what you describe. The original stays in the cache.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/missing_keys.py" />
            <source>API key for {provider} is missing</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/missing_keys.py" />
            <source>API keys that aren't in a keychain last only until Helix closes.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/composer_controller.py" />
            <source>All files (*)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/background_jobs.py" />
            <source>Answering a side question</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/controller.py" />
            <source>Approval needed: {request}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/effort.py" />
            <source>As set for the model ({effort})</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/side_questions.py" />
            <source>Ask</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/side_questions.py" />
            <source>Ask a side question</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/composer_controller.py" />
            <source>Attach files</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/mode.py" />
            <source>Auto mode still asks before running commands.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/banners.py" />
            <source>Automatic compaction paused.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/composer_controller.py" />
            <source>Choose a model to continue</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/model_menu.py" />
            <source>Choose a model.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/navigation.py" />
            <source>Choose another folder.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/model_change_banner.py" />
            <source>Choose model…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/mode.py" />
            <source>Commands here can reach the network, or files outside the workspace. Files are edited without asking.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/banners.py" />
            <source>Compact</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/banners.py" />
            <source>Compact now, or continue: oversized requests are trimmed or stopped.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/banners.py" />
            <source>Compact this conversation? {estimate}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/banners.py" />
            <source>Compact without a model</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/model_change_banner.py" />
            <source>Continue with the demo model</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/model_change_banner.py" />
            <source>Continue with {model}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/navigation.py" />
            <source>Couldn't save {file}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/effort.py" />
            <source>Default for this workspace</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/composer_controller.py" />
            <source>Default model for this workspace. Click to choose one for this session.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/model_menu.py" />
            <source>Default model for this workspace…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/approvals.py" />
            <source>Deny</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/approvals.py" />
            <source>Deny with reason</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/effort.py" />
            <source>Effort of each model…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/effort.py" />
            <source>Efforts are {efforts}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/missing_keys.py" />
            <source>Enter API key…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/navigation.py" />
            <source>Handover</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/model_menu.py" />
            <source>It fits {models}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/effort.py" />
            <source>It has no reasoning effort.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/missing_keys.py" />
            <source>It was kept only until Helix closed. Enter it again, or set {variable} before you start Helix.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/composer_controller.py" />
            <source>Message: ≈ 1 token</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/composer_controller.py" />
            <source>Message: ≈ {tokens} tokens</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/composer_controller.py" />
            <source>Message: ≈ {tokens} tokens, room for {free}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/composer_controller.py" />
            <source>Model for this session</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/model_menu.py" />
            <source>Model roles…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/banners.py" />
            <source>Model: {model}. Background work may read {tokens} tokens without asking.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/mode.py" />
            <source>Modes are {modes}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/navigation.py" />
            <source>Next request</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/model_menu.py" />
            <source>No model that is set up has this name.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/context.py" />
            <source>No workspace is open.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/banners.py" />
            <source>Not now</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/model_change_banner.py" />
            <source>Nothing is sent until you choose. The model you choose receives this conversation.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/banners.py" />
            <source>Only its result goes to the parent session. Messages here go to the subagent.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/context.py" />
            <source>Open a workspace first.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/banners.py" />
            <source>Open parent session</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/banners.py" />
            <source>Otherwise, the context stays as it is.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/banners.py" />
            <source>Otherwise, the context stays as it is. Once it is full, it is compacted without a model.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/navigation.py" />
            <source>Provider cache</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/composer_controller.py" />
            <source>Read-only: folder not found</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/effort.py" />
            <source>Reasoning effort</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/effort.py" />
            <source>Reasoning effort for this session</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/composer_controller.py" />
            <location filename="../../helix_desktop/ui/session/effort.py" />
            <source>Reasoning effort: {effort}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/controller.py" />
            <source>Reply finished</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/navigation.py" />
            <source>Request</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/navigation.py" />
            <source>Save handover</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/tool_actions.py" />
            <source>Send extract</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/background_jobs.py" />
            <source>Subagent</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/banners.py" />
            <source>Subagent session.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/background_jobs.py" />
            <source>Subagent: {title}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/controller.py" />
            <source>The agent asks: {question}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/budget_controller.py" />
            <source>The budget wasn't changed.</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/session/banners.py" />
            <source>The last %n attempts failed or freed too little.</source>
            <translation>
                <numerusform>The last attempt failed or freed too little.</numerusform>
                <numerusform>The last %n attempts failed or freed too little.</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/side_questions.py" />
            <source>The model answers from the present context. Question and answer stay out of it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/past/controller.py" />
            <source>The policy, system prompt or tools were others then. They are shown as they are now.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/tool_actions.py" />
            <source>These changes were removed from the file history.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/approvals.py" />
            <source>This call won't run. The agent reads your reason and continues.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/effort.py" />
            <source>This model has no reasoning effort</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/composer_controller.py" />
            <source>Trust this folder to send messages</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/model_menu.py" />
            <source>Type more of its name.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/budget_controller.py" />
            <source>Type {command}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/banners.py" />
            <source>Update</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/banners.py" />
            <source>Update observations? {estimate}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/tool_actions.py" />
            <source>What should the extract contain?</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/effort.py" />
            <source>Workspace default ({effort})</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/model_menu.py" />
            <source>Workspace default ({model})</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/past/controller.py" />
            <source>You're looking at {step}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/composer_controller.py" />
            <source>images not supported</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/navigation.py" />
            <source>{before} → {after} tokens</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/composer_controller.py" />
            <source>{command} was sent.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/model_change_banner.py" />
            <source>{model} answered in this session, but isn't set up.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/model_change_banner.py" />
            <source>{model} answered in this session. The workspace now uses the offline demo model.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/model_change_banner.py" />
            <source>{model} is chosen for this session, but isn't set up.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/header.py" />
            <source>{previous} → {next} from the next turn</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/navigation.py" />
            <source>{reason}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/past/controller.py" />
            <source>{step}: later messages are hidden</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/background_jobs.py" />
            <source>{used} of {window} tokens</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/mode.py" />
            <source>{words} isn't a mode.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/effort.py" />
            <source>{words} isn't an effort of this model.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/model_menu.py" />
            <source>{words} isn't one model.</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Sessions</name>
        <message>
            <location filename="../../helix_desktop/words/sessions.py" />
            <source>New session</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Settings</name>
        <message>
            <location filename="../../helix_desktop/config/toml_file.py" />
            <source>A copy is kept as {copy}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/config/settings.py" />
            <source>A copy of the file is kept as {copy}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/config/settings.py" />
            <source>A model must be named PROVIDER/NAME (got {name}).</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/config/settings.py" />
            <source>Add it in Settings → Providers.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/config/settings.py" />
            <source>Add one in Settings → Providers, or enter it as {provider}/MODEL.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/config/settings.py" />
            <source>Check that {folder} is writable and has free space.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/config/data_dir_move.py" />
            <source>Choose an empty folder, or one that doesn't exist yet.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/config/data_dir_move.py" />
            <source>Choose another folder.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/config/toml_file.py" />
            <source>Correct it, or delete it to start with defaults.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/config/settings.py" />
            <source>For example: openai/gpt-5.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/config/build_info.py" />
            <source>Helix Desktop {version} ({origin})</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/config/build_info.py" />
            <source>It has version {actual}; the app has {expected}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/config/data_dir_move.py" />
            <source>It stays where it was. Make the new folder writable, or choose another one.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/config/data_dir_move.py" />
            <source>It's in {folder}; neither folder can contain the other.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/config/data_dir_move.py" />
            <source>Its files would mix with the data of Helix Desktop.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/config/paths.py" />
            <source>Make it writable, or choose another one with --data-dir or {variable}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/config/settings.py" />
            <source>No model from {provider} is selected.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/config/settings.py" />
            <source>No model is set up for it yet.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/config/settings.py" />
            <source>No provider is set up yet.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/config/data_dir_move.py" />
            <source>Nothing was changed. Free up space there, or choose another folder.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/config/settings.py" />
            <source>Provider {provider} not found.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/config/paths.py" />
            <source>Reconnect it, or delete {file} to start without it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/config/build_info.py" />
            <location filename="../../helix_desktop/config/licenses.py" />
            <source>Reinstall Helix Desktop.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/config/settings.py" />
            <source>Some settings in {file} are invalid: {names}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/config/data_dir_move.py" />
            <source>The data can't be moved to {folder}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/config/data_dir_move.py" />
            <source>The data couldn't be moved to {folder}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/config/paths.py" />
            <source>The data directory was moved to {folder}, but isn't there.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/config/paths.py" />
            <source>The data directory {folder} can't be used.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/config/paths.py" />
            <source>The drive may be missing, or the folder was moved or renamed.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/config/toml_file.py" />
            <source>The file {file} is damaged.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/config/settings.py" />
            <source>The settings couldn't be saved.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/config/data_dir_move.py" />
            <source>There isn't enough disk space in {folder}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/config/settings.py" />
            <source>They now have their defaults. Set them again in Settings.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/config/settings.py" />
            <source>Your providers: {providers}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/config/build_info.py" />
            <source>commit {id}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/config/build_info.py" />
            <source>commit {id} with changes</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/config/settings.py" />
            <source>entered in Settings → Providers</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/config/build_info.py" />
            <source>from a Python package</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/config/build_info.py" />
            <source>from source</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/config/keychain.py" />
            <source>its item {name} can't be read; delete it, then enter the keys again</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/config/keychain.py" />
            <source>its item {name} is incomplete; delete it, then enter the keys again</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/config/settings.py" />
            <source>reported by {provider}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/config/licenses.py" />
            <source>see its text</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/config/licenses.py" />
            <source>the Python package {name}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/config/keychain.py" />
            <source>the keychain didn't answer within {seconds} s</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/config/keychain.py" />
            <source>the keychain hasn't answered yet; it may be waiting to be unlocked</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/config/keychain.py" />
            <source>this system has no keychain</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/config/build_info.py" />
            <location filename="../../helix_desktop/config/licenses.py" />
            <source>{file} can't be used.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/config/data_dir_move.py" />
            <source>{folder} isn't empty.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/config/build_info.py" />
            <source>{names} must be a line of text.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/config/data_dir_move.py" />
            <source>{needed} are needed; {free} are free.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/config/build_info.py" />
            <source>{parts}, {part}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/config/data_dir_move.py" />
            <source>{path} isn't a folder.</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Settings: Data</name>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/settings/data/page.py" />
            <source>%n can be removed ({size} on disk)</source>
            <translation>
                <numerusform>%n can be removed ({size} on disk)</numerusform>
                <numerusform>%n can be removed ({size} on disk)</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/settings/data/page.py" />
            <source>%n entries, {size} on disk</source>
            <translation>
                <numerusform>%n entry, {size} on disk</numerusform>
                <numerusform>%n entries, {size} on disk</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/settings/data/page.py" />
            <source>%n more entries in the trash ({size} on disk), each kept for {days} days</source>
            <translation>
                <numerusform>%n more entry in the trash ({size} on disk), kept for {days} days</numerusform>
                <numerusform>%n more entries in the trash ({size} on disk), each kept for {days} days</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/data/page.py" />
            <source>A backup is one file for each workspace. Each file is read again and checked.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/data/history_card.py" />
            <source>A file or folder in the workspace that git ignores, or that contains secrets.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/data/history_card.py" />
            <source>Add</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/data/history_card.py" />
            <source>Also covered</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/data/page.py" />
            <source>Back up all workspaces…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/data/history_card.py" />
            <source>Changes of larger files can't be undone.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/data/page.py" />
            <source>Clean up…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/data/page.py" />
            <source>Data</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/data/history_card.py" />
            <source>File history</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/data/history_card.py" />
            <source>Largest file</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/data/history_card.py" />
            <location filename="../../helix_desktop/ui/settings/data/page.py" />
            <source>Maximum size</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/data/page.py" />
            <source>Move to trash</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/data/page.py" />
            <source>Never</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/data/page.py" />
            <source>Nothing can be removed now</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/data/page.py" />
            <source>Open a workspace to see its data.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/data/history_card.py" />
            <source>Remove</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/data/page.py" />
            <source>Remove a secret…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/data/history_card.py" />
            <source>Remove {place}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/data/page.py" />
            <source>Trash…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/data/page.py" />
            <source>What {workspace} stores, and for how long.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/data/history_card.py" />
            <source>When it is reached, the oldest versions are removed first.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/data/page.py" />
            <source>When the workspace opens, outputs that no session uses move to the trash.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/data/history_card.py" />
            <source>{number} MB</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Settings: General</name>
        <message>
            <location filename="../../helix_desktop/ui/settings/dialog.py" />
            <source>About</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/appearance_page.py" />
            <location filename="../../helix_desktop/ui/settings/dialog.py" />
            <source>Appearance</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/dialog.py" />
            <source>Context policy</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/appearance_page.py" />
            <source>Dark</source>
            <comment>theme</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/dialog.py" />
            <source>Data</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/appearance_page.py" />
            <source>Enter sends, Shift+Enter starts a new line</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/dialog.py" />
            <source>Instructions</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/dialog.py" />
            <source>Keyboard</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/appearance_page.py" />
            <source>Light</source>
            <comment>theme</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/dialog.py" />
            <source>MCP servers</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/dialog.py" />
            <source>Model roles</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/appearance_page.py" />
            <source>Notifications</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/appearance_page.py" />
            <source>Notify me when the agent waits for me or a long turn ends</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/appearance_page.py" />
            <source>Off: Ctrl+Enter sends.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/dialog.py" />
            <source>One model can do everything. Faster, cheaper or larger models can take over some work.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/appearance_page.py" />
            <source>Only while another window is in front.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/dialog.py" />
            <source>Permissions</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/dialog.py" />
            <source>Providers</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/appearance_page.py" />
            <source>Sending</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/dialog.py" />
            <source>Settings</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/appearance_page.py" />
            <source>System</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/appearance_page.py" />
            <source>Text size</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/appearance_page.py" />
            <source>Theme</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/appearance_page.py" />
            <source>{size} px</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Settings: Instructions</name>
        <message>
            <location filename="../../helix_desktop/ui/settings/instructions_page.py" />
            <source>AGENTS.md and CLAUDE.md of the workspace are sent too, those of other folders when the agent first works there. {file} lists what tools must not read.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/instructions_page.py" />
            <location filename="../../helix_desktop/ui/workspaces/settings/instructions_presenter.py" />
            <source>For all workspaces</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/instructions_page.py" />
            <source>For example: answer in short sentences.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/instructions_page.py" />
            <source>For example: run the tests after each change.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/settings/instructions_presenter.py" />
            <source>For the workspace {name}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/instructions_page.py" />
            <source>For this workspace</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/instructions_page.py" />
            <source>Instructions</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/instructions_page.py" />
            <source>Save</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/instructions_page.py" />
            <source>Sent to every new session with its first message. Running sessions learn of a change with your next message. The inspector shows each text with its tokens.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/instructions_page.py" />
            <source>Stored in {file}</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Settings: Keyboard</name>
        <message>
            <location filename="../../helix_desktop/ui/settings/keyboard/key_recorder.py" />
            <source>Add keys</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/settings/keyboard_presenter.py" />
            <source>All commands have their default keys.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/keyboard/page.py" />
            <source>Always {keys}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/keyboard/page.py" />
            <source>Cancel</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/keyboard/page.py" />
            <source>Choose a command's keys, then press new ones. Esc cancels, Backspace removes.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/keyboard/page.py" />
            <source>Find a command or a key</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/keyboard/page.py" />
            <source>Keyboard</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/keyboard/key_recorder.py" />
            <source>Keys for {command}: {keys}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/keyboard/page.py" />
            <source>Keys inside a page or a list, such as P in the cache, and keys that edit text can't be changed.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/keyboard/page.py" />
            <source>No command or key matches.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/keyboard/page.py" />
            <source>OK</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/keyboard/key_recorder.py" />
            <source>Press keys…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/keyboard/page.py" />
            <source>Replace</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/keyboard/page.py" />
            <source>Reset all</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/keyboard/page.py" />
            <source>Reset keys for {command}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/keyboard/page.py" />
            <source>Undo</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/keyboard/key_recorder.py" />
            <source>none</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/settings/keyboard_presenter.py" />
            <source>{command}: no keys</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/settings/keyboard_presenter.py" />
            <source>{command}: now {keys}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/keyboard/key_recorder.py" />
            <source>{command}: press new keys. Esc cancels, Backspace removes.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/settings/keyboard_presenter.py" />
            <source>{keys} is used by {command}</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Settings: MCP</name>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/settings/mcp/server_card.py" />
            <location filename="../../helix_desktop/ui/settings/mcp/text.py" />
            <source>%n tools</source>
            <translation>
                <numerusform>%n tool</numerusform>
                <numerusform>%n tools</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/page.py" />
            <source>Add and start</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/settings/mcp/page.py" />
            <source>Add and start %n servers</source>
            <translation>
                <numerusform>Add and start %n server</numerusform>
                <numerusform>Add and start %n servers</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/page.py" />
            <source>Add server</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/server_card.py" />
            <source>Allow and start</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/sharing_card.py" />
            <source>Also share over HTTP while Helix Desktop runs</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/page.py" />
            <location filename="../../helix_desktop/ui/settings/mcp/server_form.py" />
            <source>Cancel</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/page.py" />
            <source>Command line, URL or JSON block</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/server_form.py" />
            <source>Command or URL</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/server_form.py" />
            <source>Connected</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/text.py" />
            <source>Connects to this address with these headers:</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/text.py" />
            <source>Connects to:</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/sharing_card.py" />
            <source>Copied</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/sharing_card.py" />
            <source>Copy MCP configuration</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/sharing_card.py" />
            <source>Copy with token</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/text.py" />
            <source>Each variable must be NAME=value (got {value}).</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/server_card.py" />
            <source>Edit</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/server_card.py" />
            <source>Edit {name}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/server_form.py" />
            <source>Enter value</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/page.py" />
            <source>Enter {names} after adding it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/text.py" />
            <source>Failed</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/text.py" />
            <source>Failed · retrying within {seconds} s</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/tool_list.py" />
            <source>Filter tools</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/server_form.py" />
            <source>Folder</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/text.py" />
            <source>Folder not trusted</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/sharing_card.py" />
            <source>For programs that can't start commands. Only on this computer, with the token.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/tool_list.py" />
            <source>Hidden from the model</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/server_card.py" />
            <source>Log</source>
            <comment>noun</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/server_card.py" />
            <source>Log of {name}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/tool_list.py" />
            <source>Log output</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/server_card.py" />
            <source>MCP server {name}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/page.py" />
            <source>MCP servers</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/page.py" />
            <source>MCP servers give the agent more tools in {workspace}. They run with your rights, outside the sandbox. The agent asks before each call, unless a rule allows it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/server_form.py" />
            <source>NAME=value, one per line</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/server_form.py" />
            <source>Name</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/text.py" />
            <source>Needs your approval</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/sharing_card.py" />
            <source>New token</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/tool_list.py" />
            <source>No log output</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/page.py" />
            <source>No servers yet. Files such as .mcp.json in the folder are never read. Paste what you want to use.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/text.py" />
            <source>Off</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/page.py" />
            <source>Open a workspace to add MCP servers.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/sharing_card.py" />
            <source>Other programs can recall, search and list the cached outputs of {workspace}, nothing else. Each program starts this command itself, even while Helix Desktop is open.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/page.py" />
            <source>Paste a command line, a URL, or the JSON configuration of another program.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/tool_list.py" />
            <source>Read-only, according to the server</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/text.py" />
            <source>Ready</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/server_card.py" />
            <source>Remove</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/server_card.py" />
            <source>Restart</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/text.py" />
            <source>Restarting…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/server_card.py" />
            <source>Save and start</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/server_form.py" />
            <source>Saved. Type to replace it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/sharing_card.py" />
            <source>Share this cache over MCP</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/server_card.py" />
            <source>Start now</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/text.py" />
            <source>Starting…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/text.py" />
            <source>Starts in {folder}, with your rights and outside the sandbox:</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/server_form.py" />
            <source>Test</source>
            <comment>verb: button</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/server_form.py" />
            <source>Testing…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/server_card.py" />
            <source>This configuration hasn't been approved.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/tool_list.py" />
            <source>Tokens in each request</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/server_card.py" />
            <source>Tools</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/server_card.py" />
            <source>Tools of {name}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/page.py" />
            <source>Undo</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/server_card.py" />
            <source>Use {name}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/server_form.py" />
            <source>Values of names like API_KEY or TOKEN are kept as secrets, not in a file.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/server_form.py" />
            <source>Variables or headers</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/text.py" />
            <source>Waiting to start</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/server_form.py" />
            <source>Workspace folder</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/text.py" />
            <source>Write one per line.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/tool_list.py" />
            <source>hidden</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/text.py" />
            <source>no tools</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/settings/mcp/text.py" />
            <source>{exposed} of %n tools</source>
            <translation>
                <numerusform>{exposed} of %n tool</numerusform>
                <numerusform>{exposed} of %n tools</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/settings/mcp_presenter.py" />
            <source>{name} was removed.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/text.py" />
            <source>{name}=••• (saved)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/mcp/text.py" />
            <source>{tokens} tokens in each request</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Settings: Models</name>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/model_spec_form.py" />
            <source>$ / million</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/model_checklist.py" />
            <location filename="../../helix_desktop/ui/settings/providers/model_rows.py" />
            <source>$ in / out</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/model_rows.py" />
            <source>${price} per million tokens</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/workspaces/settings/providers_presenter.py" />
            <source>%n models found. Select the models to add.</source>
            <translation>
                <numerusform>%n model found. Select the models to add.</numerusform>
                <numerusform>%n models found. Select the models to add.</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/page.py" />
            <source>A built-in script that works on the sample project with the real tools. It needs no key and no network. It can't answer questions: choose another model for that.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/page.py" />
            <source>A key is sent only to its own server. Proxy and certificates are those of the system.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/check_view.py" />
            <location filename="../../helix_desktop/ui/settings/providers/editor.py" />
            <location filename="../../helix_desktop/ui/workspaces/settings/providers_presenter.py" />
            <source>API key</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/editor.py" />
            <source>API type</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/models.py" />
            <source>Add</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/settings/providers/model_checklist.py" />
            <source>Add %n models</source>
            <translation>
                <numerusform>Add %n model</numerusform>
                <numerusform>Add %n models</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/forms.py" />
            <source>Add a model: list the server's models, or enter a name.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/extras_form.py" />
            <source>Add header</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/model_checklist.py" />
            <source>Add models</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/page.py" />
            <source>Add provider</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/settings/providers_presenter.py" />
            <source>Added</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/roles_card.py" />
            <source>Answers you and calls tools.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/roles_card.py" />
            <source>As set for the role's model</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/settings/providers_presenter.py" />
            <source>Asking the server…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/roles_card.py" />
            <source>Background effort</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/editor.py" />
            <source>Base URL</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/model_rows.py" />
            <location filename="../../helix_desktop/ui/settings/providers/model_spec_form.py" />
            <source>Cache write price</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/model_rows.py" />
            <location filename="../../helix_desktop/ui/settings/providers/model_spec_form.py" />
            <source>Cache write price, 1 hour</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/model_rows.py" />
            <location filename="../../helix_desktop/ui/settings/providers/model_spec_form.py" />
            <source>Cached input price</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/model_checklist.py" />
            <source>Cancel</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/model_checklist.py" />
            <source>Clear selection</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/check_view.py" />
            <source>Connection</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/model_checklist.py" />
            <location filename="../../helix_desktop/ui/settings/providers/model_rows.py" />
            <source>Context</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/model_rows.py" />
            <location filename="../../helix_desktop/ui/settings/providers/model_spec_form.py" />
            <source>Context window</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/model_spec_form.py" />
            <source>Default (no)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/model_spec_form.py" />
            <source>Default (unknown)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/model_spec_form.py" />
            <source>Default (yes)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/roles_card.py" />
            <source>Default ({model})</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/roles_card.py" />
            <source>Default for all workspaces</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/model_rows.py" />
            <source>Default model of this provider</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/forms.py" />
            <source>Enter a name.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/forms.py" />
            <source>Enter a web address such as {example}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/extras_form.py" />
            <source>Enter the body fields as a JSON object, such as {example}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/extras_form.py" />
            <source>Extra body fields</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/extras_form.py" />
            <source>Extra headers and fields</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/roles_card.py" />
            <source>Extracts details from large outputs. Use a fast model.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/check_view.py" />
            <source>Failed: {notice}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/extras_form.py" />
            <source>Fields added to the body of every request, as a JSON object.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/model_checklist.py" />
            <source>Filter models</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/page.py" />
            <source>Find local servers</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/roles_card.py" />
            <source>From the catalog: reads {window} tokens, {main} reads {least}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/roles_card.py" />
            <source>From the catalog: {price} per million tokens in and out, {main} costs {highest}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/extras_form.py" />
            <source>Header name</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/extras_form.py" />
            <source>Header value</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/extras_form.py" />
            <source>Headers of every request. Secret values are never written to a file.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/editor.py" />
            <source>Hide key</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/check_view.py" />
            <source>Hide result</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/roles_card.py" />
            <source>How much models think for summaries and extracts.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/model_rows.py" />
            <source>Images</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/roles_card.py" />
            <source>In this workspace</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/roles_card.py" />
            <source>In {workspace}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/model_rows.py" />
            <location filename="../../helix_desktop/ui/settings/providers/model_spec_form.py" />
            <source>Input price</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/extras_form.py" />
            <source>Keep secret: in the system's keychain only</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/roles_card.py" />
            <source>Large outputs</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/models.py" />
            <source>List models</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/roles_card.py" />
            <source>Long texts</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/roles_card.py" />
            <source>Main</source>
            <comment>model role</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/roles_card.py" />
            <source>Main model</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/model_spec_form.py" />
            <source>Make default</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/page.py" />
            <source>Make it the default model of this workspace</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/editor.py" />
            <source>Make it the default model of this workspace. Sessions can choose another.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/model_rows.py" />
            <location filename="../../helix_desktop/ui/settings/providers/model_spec_form.py" />
            <source>Max output</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/model_checklist.py" />
            <location filename="../../helix_desktop/ui/settings/providers/model_rows.py" />
            <source>Model</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/models.py" />
            <source>Model name</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/page.py" />
            <source>Model providers</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/models.py" />
            <source>Model to add</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/model_table.py" />
            <location filename="../../helix_desktop/ui/settings/providers/models.py" />
            <location filename="../../helix_desktop/ui/workspaces/settings/providers_presenter.py" />
            <source>Models</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/editor.py" />
            <source>Most servers use Chat Completions, local ones too.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/editor.py" />
            <source>Name</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/model_spec_form.py" />
            <source>No</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/model_checklist.py" />
            <source>No matching models</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/settings/providers_presenter.py" />
            <source>No models found. Load a model on the server first.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/models.py" />
            <source>No models yet. List the server's models, or enter a name.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/editor.py" />
            <source>Not needed</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/model_checklist.py" />
            <source>Offered models</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/editor.py" />
            <source>Optional</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/page.py" />
            <source>Other server</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/model_rows.py" />
            <source>Output</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/model_rows.py" />
            <location filename="../../helix_desktop/ui/settings/providers/model_spec_form.py" />
            <source>Output price</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/editor.py" />
            <source>Paste the key</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/page.py" />
            <source>Providers</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/roles_card.py" />
            <source>Reads texts that fit no other model's context window.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/model_spec_form.py" />
            <source>Reasoning effort</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/roles_card.py" />
            <source>Reasoning effort for summaries and extracts</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/editor.py" />
            <source>Remove</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/extras_form.py" />
            <source>Remove header</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/model_spec_form.py" />
            <source>Remove model</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/model_spec_form.py" />
            <source>Reserved for output</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/model_spec_form.py" />
            <source>Reset to detected values</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/editor.py" />
            <source>Save</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/settings/providers_presenter.py" />
            <source>Saved</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/editor.py" />
            <location filename="../../helix_desktop/ui/settings/providers/extras_form.py" />
            <source>Saved. Type to replace it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/model_checklist.py" />
            <source>Select all</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/editor.py" />
            <source>Show key</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/model_rows.py" />
            <source>Source</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/editor.py" />
            <source>Stop</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/settings/providers_presenter.py" />
            <source>Stopped.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/check_view.py" />
            <source>Streaming</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/roles_card.py" />
            <source>Summaries</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/model_spec_form.py" />
            <source>Supports images</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/model_spec_form.py" />
            <source>Supports tools</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/check_view.py" />
            <source>TLS</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/editor.py" />
            <source>Test</source>
            <comment>verb: button</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/forms.py" />
            <source>The context window of {model} must be at least {tokens} tokens.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/settings/providers_presenter.py" />
            <source>The key belongs to the old name {name}. Enter it again.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/settings/providers_presenter.py" />
            <source>The provider isn't complete yet.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/check_view.py" />
            <location filename="../../helix_desktop/ui/settings/providers/model_rows.py" />
            <source>Tools</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/editor.py" />
            <location filename="../../helix_desktop/ui/settings/providers/page.py" />
            <source>Use in this workspace</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/extras_form.py" />
            <source>Value</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/editor.py" />
            <source>Will be kept in the system's keychain, if there is one.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/roles_card.py" />
            <source>Writes handovers and observations.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/model_spec_form.py" />
            <source>Yes</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/model_rows.py" />
            <source>assumed</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/model_rows.py" />
            <source>catalog</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/model_rows.py" />
            <source>catalog: {source}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/check_view.py" />
            <source>failed</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/model_rows.py" />
            <source>no</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/check_view.py" />
            <source>not tested</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/check_view.py" />
            <source>passed</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/check_view.py" />
            <source>running</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/model_rows.py" />
            <source>server</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/check_view.py" />
            <source>skipped</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/model_spec_form.py" />
            <source>this model has no reasoning effort</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/model_spec_form.py" />
            <source>tokens</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/model_spec_form.py" />
            <source>unknown</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/page.py" />
            <source>workspace default</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/model_rows.py" />
            <source>yes</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/model_rows.py" />
            <source>you</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/roles_card.py" />
            <source>{model} (not available)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/settings/providers_presenter.py" />
            <source>{model} is now the default model. Open a folder to start.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/model_spec_form.py" />
            <source>{name} ({unit})</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/model_checklist.py" />
            <source>{name} is already in the list</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/check_view.py" />
            <source>{name}: {detail}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/model_table.py" />
            <source>{name}: {value}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/model_rows.py" />
            <source>{name}: {value} ({source})</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/model_table.py" />
            <source>{name}: {value}, default</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/roles_card.py" />
            <source>{role}, default for all workspaces</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/roles_card.py" />
            <source>{role}, in this workspace</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/check_view.py" />
            <source>{step}: {state}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/providers/model_rows.py" />
            <source>{tokens} tokens</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Settings: Permissions</name>
        <message>
            <location filename="../../helix_desktop/ui/settings/permissions/page.py" />
            <source>Add rule</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/permissions/sandbox_group.py" />
            <source>Agent access</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/permissions/page.py" />
            <source>Allow</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/permissions/page.py" />
            <source>Always ask</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/permissions/page.py" />
            <source>Changes to files in</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/permissions/page.py" />
            <source>Command, folder or host</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/permissions/sandbox_group.py" />
            <source>Commands can write only in the workspace, and can't read keys or passwords.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/permissions/page.py" />
            <source>Commands like</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/permissions/page.py" />
            <source>Demo model only</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/permissions/page.py" />
            <source>Effect of the rule</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/permissions/sandbox_group.py" />
            <source>Let commands use the network</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/permissions/sandbox_group.py" />
            <source>Let the agent fetch web pages</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/permissions/page.py" />
            <source>Never</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/permissions/page.py" />
            <source>New rule</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/permissions/page.py" />
            <source>No rules in {workspace} yet. See below what runs without asking.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/permissions/page.py" />
            <source>No rules in {workspace}. In Ask mode, the agent asks every time.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/permissions/sandbox_group.py" />
            <source>Off: the agent asks for each command that needs it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/permissions/page.py" />
            <source>Permissions</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/permissions/page.py" />
            <source>Revoke</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/permissions/page.py" />
            <source>Revoke trust</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/permissions/page.py" />
            <source>Revoke: {rule}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/permissions/page.py" />
            <source>Revoked: {rule}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/permissions/page.py" />
            <source>Rules</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/permissions/sandbox_group.py" />
            <source>Run commands in a sandbox</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/permissions/page.py" />
            <source>Run demo calls without asking</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/settings/permissions_presenter.py" />
            <source>Saved {time}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/permissions/sandbox_group.py" />
            <source>The agent asks for each host. It never contacts machines in your own network.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/permissions/page.py" />
            <source>The offline demo model asks before each command and file change in this sample.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/permissions/page.py" />
            <source>The offline demo model asks once in this sample, then runs its script without asking.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/permissions/page.py" />
            <source>The offline demo model runs the commands and file changes of its script without asking.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/permissions/page.py" />
            <source>The strictest rule wins: Never, then Always ask, then Allow. A rule that allows commands like a pattern applies only in a sandbox without network access.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/permissions/page.py" />
            <source>This doesn't apply to other models.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/permissions/page.py" />
            <source>This folder is trusted.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/permissions/page.py" />
            <source>This folder isn't trusted. Nothing runs in it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/permissions/page.py" />
            <source>This session</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/permissions/page.py" />
            <source>Trust folder…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/permissions/page.py" />
            <source>Undo</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/settings/permissions_presenter.py" />
            <source>Until Helix Desktop closes</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/permissions/page.py" />
            <source>Web pages from</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/permissions/page.py" />
            <source>What the agent may do in {workspace}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/permissions/page.py" />
            <source>What the rule applies to</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/settings/permissions_presenter.py" />
            <source>not used yet</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/workspaces/settings/permissions_presenter.py" />
            <source>used %n times, last {time}</source>
            <translation>
                <numerusform>used once, {time}</numerusform>
                <numerusform>used %n times, last {time}</numerusform>
            </translation>
        </message>
    </context>
    <context>
        <name>Settings: Policy</name>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>% of that limit</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>% of the context window</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>0 turns notes off.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>0: arguments are never cached. Otherwise at least 2.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>0: no limit.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>0: no limit. Only models with known prices count.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>0: only the limit below counts, and the agent doesn't choose.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>A compaction that would free less is refused.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>A large output is stored whole, and only a part enters the context. The agent can recall it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>A longer message keeps its beginning and its end.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>A marker saves at least</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>A note frees at least</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>A subagent keeps the profile it starts with. Budgets are those of this workspace.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>After a longer pause a quarter of the smallest batch is enough: the provider reads the whole request again anyway. Where Helix asked for a longer lifetime, that counts.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>After that, a preview is used. A model that answers slowly gets up to six times as long. 0: the agent doesn't choose.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Also in merged notes and observations.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Also large above</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>An output is large above</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Apply observations above</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>At least 2 are always kept.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>At once</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Background work asks above</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/policies.py" />
            <source>Balanced</source>
            <comment>policy profile</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Between turns, the newest turn always stays whole.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Cached arguments</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Cached outputs</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Caches old outputs at once and summarizes at 85 %. Easy to follow, but rewrites requests most often.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Caches old outputs in fixed batches and summarizes at 85 %. No notes, no observations.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Can't be below the limit for compaction.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/policies.py" />
            <source>Classic</source>
            <comment>policy profile</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Compact above</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Compaction</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Compaction and observations ask before they read more than this, or more than half the context window. 0: they never ask.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/page.py" />
            <source>Context policy</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/policies.py" />
            <source>Context policy for this session: workspace policy</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/policies.py" />
            <source>Context policy for this session: {policy}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Cost in US dollars</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Counts messages without observations. 0 turns observations off.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Counts the whole context. With the same number as above: as soon as they are ready.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Digest in a marker</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Doubles after each failure, up to four times as long.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/forms.py" />
            <source>Enter a number from {low} to {high}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/forms.py" />
            <source>Enter a number.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/forms.py" />
            <source>Enter a whole number.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>File names, symbols and numbers of the noted steps. 0 turns this off.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Fixed batch</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Free at least</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>General</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>In fixed batches</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>It chooses the full output, a preview or an extract. Off: always a preview.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Keep outputs recalled at least</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Keeps the newest copy of what the agent recalls again and again. 0 turns this off.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Large arguments of old tool calls are cached too, such as the text of a file.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Large outputs</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Largest batch</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/policies.py" />
            <source>Lean</source>
            <comment>policy profile</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Less in a context window below 128,000 tokens, and after a long pause.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Let the agent choose</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>List of files, commands, errors</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Make room above</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Make room down to</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Manage the context</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Merge notes above</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Merges observations and drops outdated facts.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Names kept beside notes</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Newest notes to keep</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Newest part to keep</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Newest steps that keep arguments</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Newest steps to keep</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Newest tokens to keep</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Note steps older than</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Noted steps</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Observations</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/forms.py" />
            <source>Off</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/policies.py" />
            <source>Off</source>
            <comment>policy profile</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Off: requests are sent unchanged. One that doesn't fit is stopped with an error.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Old steps are noted: one note replaces them. It keeps what was said and a few words for each call. The agent can recall the outputs.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Old tool outputs are cached: a marker replaces each one, and the agent can recall it. In a context window below 128,000 tokens, batches and the newest tokens to keep shrink in proportion.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Older messages are summarized: a handover in six sections replaces them, with a list of files, commands and errors.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Older turns are noted as observations: dated facts that a model writes in the background. They replace the turns when that pays off.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/forms.py" />
            <source>On</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/page.py" />
            <location filename="../../helix_desktop/ui/workspaces/settings/policy_presenter.py" />
            <source>Open file</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Overflow</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/page.py" />
            <source>Overwrite the file with the policy in use. A copy of the file is kept.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/policies.py" />
            <source>Plain</source>
            <comment>policy profile</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/policies.py" />
            <source>Policy: {policy}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/policies.py" />
            <source>Policy: {policy}, for this session only</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Preview size</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/page.py" />
            <source>Profile</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Profile for subagents</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Provider cache expires after</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Refine observations above</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/page.py" />
            <location filename="../../helix_desktop/ui/workspaces/settings/policy_presenter.py" />
            <source>Replace file</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/page.py" />
            <source>Reset to profile default ({value})</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/page.py" />
            <source>Restore my changes ({count})</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/page.py" />
            <source>Restore my changes to {profile}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Same as this workspace</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Sends every request unchanged. A request that doesn't fit is stopped with an error.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Sends the least: outputs are cached and steps noted early, and observations apply as soon as they are ready.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Session budget</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Smaller outputs stay as they are.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Smallest batch</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Summarize at least</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>The agent recalls an output by them. 64 is the whole digest.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>The default: old outputs are cached and old steps noted, and observations apply when that pays off.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>The newest part ends at the limit that is reached first.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>The newest that fit, at most 16 % of the context window. Also in notes and observations.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>The older notes become one shorter note. 0 turns this off.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/page.py" />
            <location filename="../../helix_desktop/ui/workspaces/settings/policy_presenter.py" />
            <source>The policy file has an error.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/settings/policy_presenter.py" />
            <source>The previous policy stays in use until you fix it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/page.py" />
            <source>The previous policy stays in use until you fix the file.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>These numbers don't work together.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>They stay as they are when older notes are merged.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Time to choose and extract</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Tokens sent and received</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/page.py" />
            <source>Use {profile} with your earlier changes</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Wait between compactions</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>What a session may spend before its turn stops. To set the budget of one session, click the figures below the chat.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/page.py" />
            <source>What leaves the context in {workspace}, and when. Changes apply from the next request.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>When a request doesn't fit, room is made at once, in steps and without a model.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>When it pays off</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>When it pays off: a batch of this size is cached without waiting.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>When it pays off: once keeping outputs has cost as much as resending what follows them. In fixed batches: when a batch is full. At once: before each request.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>When it pays off: smaller batches wait.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>When to cache</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Write observations above</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Your messages in merged notes</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>Your messages kept verbatim</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/settings/policy_presenter.py" />
            <source>Your stored changes conflict with your current ones.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>hex digits</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>messages</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/policy.py" />
            <source>profile must be one of {names} (got {value})</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>seconds</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>steps</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>times</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>tokens</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>tokens each</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/policy.py" />
            <source>{field} must be at least 0</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/policy.py" />
            <source>{field} must be between {low} and {high}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/policy.py" />
            <source>{lower} must be below {upper}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/context/policy.py" />
            <source>{lower} must not be above {upper}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/page.py" />
            <source>{name}: reset to profile default ({value})</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/policies.py" />
            <source>{profile} with %n changes</source>
            <translation>
                <numerusform>{profile} with %n change</numerusform>
                <numerusform>{profile} with %n changes</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/settings/policy/page.py" />
            <source>{profile}, with %n changes of yours</source>
            <translation>
                <numerusform>{profile}, with %n change of yours</numerusform>
                <numerusform>{profile}, with %n changes of yours</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>“{lower}” can't be above “{upper}”.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/settings/policy/form.py" />
            <source>“{lower}” must be below “{upper}”.</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Slash commands</name>
        <message>
            <location filename="../../helix_desktop/words/slash_commands.py" />
            <source>Archive or unarchive this session</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/slash_commands.py" />
            <source>Ask something that stays out of the context</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/completion/commands.py" />
            <source>Can't be used: {reason}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/slash_commands.py" />
            <source>Change how freely the agent acts</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/slash_commands.py" />
            <source>Choose how much the model thinks</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/slash_commands.py" />
            <source>Choose the model for this session</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/slash_commands.py" />
            <source>Close Helix Desktop</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/completion/commands.py" />
            <source>Commands</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/slash_commands.py" />
            <source>Export this workspace to a file</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/slash_commands.py" />
            <source>Find words in this session</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/slash_commands.py" />
            <source>Go back to before a message: files, conversation or both</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/slash_commands.py" />
            <source>It was typed with {arguments}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/completion/commands.py" />
            <source>No matching commands</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/slash_commands.py" />
            <source>Open settings</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/slash_commands.py" />
            <source>Pin this session to the top of the list, or unpin it</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/slash_commands.py" />
            <source>Redo the last compaction that was undone</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/slash_commands.py" />
            <source>Rename this session</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/slash_commands.py" />
            <source>Replace older messages by a handover</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/slash_commands.py" />
            <source>Search the cached outputs</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/slash_commands.py" />
            <source>Set what this session may spend</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/slash_commands.py" />
            <source>Show all commands</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/slash_commands.py" />
            <source>Show keyboard shortcuts</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/slash_commands.py" />
            <source>Show or hide what the next request contains</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/slash_commands.py" />
            <source>Show the files that this session changed</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/slash_commands.py" />
            <source>Show what was cached, noted and summarized</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/slash_commands.py" />
            <source>Start a branch of this session</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/slash_commands.py" />
            <source>Start a new session</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/slash_commands.py" />
            <source>Stop the agent</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/slash_commands.py" />
            <source>Type {command} alone.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/slash_commands.py" />
            <source>Undo the last compaction</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/slash_commands.py" />
            <source>Update observations now</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/slash_commands.py" />
            <source>{command} can't be used now.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/session/slash_commands.py" />
            <source>{command} takes no arguments.</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Start</name>
        <message>
            <location filename="../../helix_desktop/app/data_move.py" />
            <source>Another process is changing the list of workspaces.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/app/data_move_window.py" />
            <source>Cancel</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/app/launch_targets.py" />
            <source>Commands: {commands}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/app/launch_targets.py" />
            <source>File not found: {path}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/app/single_instance.py" />
            <source>Helix Desktop is already running but not responding (process {pid}).</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/app/single_instance.py" />
            <source>Helix Desktop is already running but not responding.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/app/launch_targets.py" />
            <source>It doesn't exist, or is a folder.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/app/single_instance.py" />
            <source>It hasn't answered for {seconds} seconds.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/app/launch_targets.py" />
            <source>It must be a command, an exported workspace ({suffix}) or a helix: link.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/app/data_move_window.py" />
            <source>Moving Helix Desktop data</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/app/data_move_window.py" />
            <source>Moving data</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/app/data_move.py" />
            <source>Nothing was changed. Close it and try again.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/app/launch_targets.py" />
            <source>Only one thing can be opened at a time.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/app/single_instance.py" />
            <source>Otherwise end that process and start again. Your data is safe.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/app/qt_language.py" />
            <source>Reinstall Helix Desktop, or unset HELIX_LANGUAGE.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/app/launch_targets.py" />
            <source>Rename it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/app/launch_targets.py" />
            <source>Rename the file, or copy the link again.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/app/window_context.py" />
            <source>Something went wrong.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/app/data_move.py" />
            <source>The data directory is in use.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/app/qt_language.py" />
            <source>The language file {name} can't be read.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/app/launch_targets.py" />
            <source>The name of an exported workspace must end in {suffix}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/app/data_move.py" />
            <source>The window of Helix Desktop is open.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/app/launch_targets.py" />
            <source>They could make it open something other than it shows.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/app/data_move_window.py" />
            <source>To {folder}. Files are copied and verified, then the window opens.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/app/launch_targets.py" />
            <source>Unknown command or file: '{argument}'.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/app/launch_targets.py" />
            <source>Use only one of --demo, --workspace and TARGET.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/app/launch_targets.py" />
            <source>Use the path of a file.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/app/single_instance.py" />
            <source>Wait: once it responds, it opens what you asked for.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/app/launch_targets.py" />
            <source>{path} can't be imported.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/app/launch_targets.py" />
            <source>{target} contains hidden characters.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/app/launch_targets.py" />
            <source>{url} doesn't point to a file on this computer.</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Steps</name>
        <message>
            <location filename="../../helix_desktop/words/steps.py" />
            <source>Turn {turn}, step {step}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/steps.py" />
            <source>{tokens} tokens</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Store</name>
        <message numerus="yes">
            <location filename="../../helix_desktop/store/core/store_errors.py" />
            <source>%n bytes</source>
            <translation>
                <numerusform>%n byte</numerusform>
                <numerusform>%n bytes</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/store/repair/integrity_check.py" />
            <source>A block of rows is damaged ({detail})</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/remote/session_leases.py" />
            <source>A command started outside the window is working in it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/open/repair_ladder.py" />
            <source>A file of its database is missing or truncated</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/redaction/leveldb_redaction.py" />
            <source>A running turn keeps mentioning it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/remote/shared_store.py" />
            <source>A secret can be removed only while no other process has the workspace open.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/redaction/redaction.py" />
            <source>A secret must have at least {count} characters.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/archive/reader.py" />
            <source>A session ID in it is invalid ({detail}).</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/redaction/redaction.py" />
            <source>A shorter text also occurs where it means something else.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/archive/importer.py" />
            <source>About {needed} are needed; {free} are free.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/archive/reader.py" />
            <source>An event of its session {number} has an invalid time.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/archive/reader.py" />
            <source>An event uses the output {digest}, which is missing.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/remote/shared_store.py" />
            <source>An open session can't be moved to the trash.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/repair/integrity_check.py" />
            <source>And {count} more</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/remote/server_connection.py" />
            <source>Ask for less at once.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/core/store_errors.py" />
            <source>Ask for less: part of the file, fewer lines, or a search in it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/repair/preflight.py" />
            <source>CURRENT, the file that names all others, is missing</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/redaction/leveldb_redaction.py" />
            <source>Close and reopen the workspace to repair it, then remove the text again.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/open/open_files.py" />
            <source>Close and reopen the workspace to repair it. The damaged files are kept.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/core/store_errors.py" />
            <source>Close that window and try again, or store it in parts.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/remote/open_store.py" />
            <source>Close the other one, or use the same version.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/remote/session_leases.py" />
            <source>Continue it there, or start another session.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/core/store_errors.py" />
            <source>Continue without it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/leveldb/database.py" />
            <source>Couldn't save to disk. Earlier work is safe.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/remote/session_leases.py" />
            <source>Do it in that window, or close it and try again.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/core/store_errors.py" />
            <source>Each workspace keeps its own cache.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/search_query.py" />
            <source>Enter a few words from the content.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/redaction/redaction.py" />
            <source>Enter more of it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/redaction/redaction.py" />
            <source>Enter the secret, or the digest of an entry.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/search_query.py" />
            <source>Enter words from the content, or a "quoted phrase".</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/archive/importer.py" />
            <source>Everything imported so far is complete. Import again to continue.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/leveldb/database.py" />
            <source>Free up disk space or make the folder writable, then try again.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/redaction/secure_delete.py" />
            <source>Free up disk space. They are rewritten when this workspace opens next.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/archive/tar_stream.py" />
            <source>It can't be decompressed ({detail}).</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/archive/tar_stream.py" />
            <source>It claims more data than a file of its size can hold.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/core/store_errors.py" />
            <source>It contained a secret.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/archive/tar_stream.py" />
            <source>It contains {actual} instead of {expected}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/archive/tar_stream.py" />
            <source>It contains {name}, which must be a regular file.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/archive/tar_stream.py" />
            <source>It ends early: a part of it is missing.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/archive/tar_stream.py" />
            <source>It ends early: its last bytes are missing.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/archive/tar_stream.py" />
            <source>It ends early: its last part is missing.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/archive/reader.py" />
            <source>It has format {actual}, from Helix Desktop {version}; this version reads format {expected}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/leveldb/identity.py" />
            <source>It has schema {actual}; this version reads schema {expected}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/remote/open_store.py" />
            <source>It hasn't answered for {seconds} s.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/leveldb/identity.py" />
            <location filename="../../helix_desktop/store/remote/open_store.py" />
            <source>It is from workspace {actual}, not {expected}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/repair/salvage.py" />
            <source>It is from workspace {workspace}, schema {schema}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/archive/reader.py" />
            <source>It must be a regular file, not a pipe or device.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/archive/writer.py" />
            <source>It wasn't written correctly.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/leveldb/contents.py" />
            <source>Its bytes are missing.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/leveldb/contents.py" />
            <source>Its bytes don't match its digest.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/archive/reader.py" />
            <source>Its contents don't match its totals.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/archive/reader.py" />
            <source>Its end is missing.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/repair/salvage.py" />
            <source>Its files are damaged or missing, and nothing in them can be read.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/files/store_files.py" />
            <source>Its format file is damaged ({detail}).</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/open/open_files.py" />
            <source>Its format file is missing, and the data next to it must not be overwritten.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/open/repair_ladder.py" />
            <source>Its identity or its counters are damaged ({detail}).</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/archive/reader.py" />
            <source>Its output {digest} is out of order.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/archive/reader.py" />
            <source>Its part {name} can't be read ({detail}).</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/archive/tar_stream.py" />
            <source>Its part {name} is too large ({size} bytes).</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/leveldb_store.py" />
            <source>Its record can't be read ({detail}).</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/archive/reader.py" />
            <source>Its session {number} has an invalid time.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/archive/reader.py" />
            <source>Its session {number} has the summary of another session.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/archive/reader.py" />
            <source>Its session {number} has too few events.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/archive/reader.py" />
            <source>Its session {number} is too long.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/leveldb/contents.py" />
            <source>Its stored data is damaged ({detail}).</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/remote/client.py" />
            <source>Lost the connection to the workspace data.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/files/store_files.py" />
            <source>Make its parent folder writable, or choose another data directory.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/leveldb/database.py" />
            <source>Make the files readable, and check the disk they are on.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/files/owner_lock.py" />
            <source>Make the folder writable, or choose another data directory.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/leveldb/database.py" />
            <location filename="../../helix_desktop/store/open/open_files.py" />
            <source>Make the folder writable, or free up disk space.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/archive/tar_stream.py" />
            <source>More data follows its end.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/core/store_errors.py" />
            <source>Near matches: {digests}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/redaction/redaction.py" />
            <source>Nothing to remove.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/leveldb/database.py" />
            <source>Nothing was changed.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/open/migration.py" />
            <source>Nothing was changed. Free up disk space, or open it with the version that wrote it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/archive/importer.py" />
            <source>Nothing was changed. Free up disk space, then import it again.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/open/repair_ladder.py" />
            <source>Nothing was changed. Make its folder writable or free up space, then try again.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/leveldb/identity.py" />
            <location filename="../../helix_desktop/store/remote/open_store.py" />
            <location filename="../../helix_desktop/store/repair/salvage.py" />
            <source>Nothing was changed. Move each data folder back to where it was.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/leveldb/identity.py" />
            <source>Nothing was changed. Open it with the newest version.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/files/store_files.py" />
            <source>Nothing was changed. Replace the data folder with a backup.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/archive/archive_format.py" />
            <source>Nothing was changed. Use another copy, or export it again.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/archive/archive_format.py" />
            <source>Nothing was left behind. Choose another place, or free up space there.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/core/store_errors.py" />
            <source>One output can have at most {limit}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/remote/session_leases.py" />
            <source>Only one process at a time can write a session.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/files/owner_lock.py" />
            <location filename="../../helix_desktop/store/remote/open_store.py" />
            <source>Only one process at a time can write workspace data.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/remote/server_connection.py" />
            <source>Open the log for details.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/core/store_errors.py" />
            <source>Open the workspace again.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/open/open_files.py" />
            <source>Part of the workspace data is damaged.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/redaction/leveldb_redaction.py" />
            <source>Removed text may still be in the workspace files, which are damaged.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/redaction/secure_delete.py" />
            <source>Removed text may still be in the workspace files.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/leveldb/database.py" />
            <source>Replace the data folder with a backup.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/repair/salvage.py" />
            <source>Replace {folder} with a backup. Or move it away, reopen the workspace, and import an exported file.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/redaction/secure_delete.py" />
            <source>Rewriting them needs {needed} of disk space; {free} are free.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/repair/integrity_check.py" />
            <source>Row {kind} {key}: {detail}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/core/store_errors.py" />
            <source>Run the tool again: storing the same output repairs the entry.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/core/store_errors.py" />
            <source>Search the cache for what it was about.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/redaction/leveldb_redaction.py" />
            <source>Stop all tasks in this workspace, then remove it again.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/remote/server_connection.py" />
            <source>The answer is too large to send.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/archive/reader.py" />
            <source>The beginning of its session {number} is missing.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/archive/reader.py" />
            <source>The bytes of its output {digest} don't match.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/core/store_errors.py" />
            <source>The cached output {digest} is damaged and was not used.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/open/migration.py" />
            <source>The copied data is inconsistent: {problem}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/core/store_errors.py" />
            <source>The damaged data is kept as {file}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/leveldb/identity.py" />
            <location filename="../../helix_desktop/store/remote/open_store.py" />
            <source>The data found here belongs to another workspace.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/repair/salvage.py" />
            <source>The data found here is damaged, and from another workspace or version.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/archive/reader.py" />
            <source>The events of its session {number} are out of order.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/archive/importer.py" />
            <source>The file changed while it was read.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/archive/writer.py" />
            <source>The file failed its check: {reason}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/files/store_files.py" />
            <source>The folder for workspace data can't be created: {folder}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/archive/importer.py" />
            <source>The import was interrupted.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/remote/client.py" />
            <source>The last change may not be saved.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/archive/tar_stream.py" />
            <source>The name of a part is invalid ({detail}).</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/core/store_errors.py" />
            <source>The output is too large to store ({size}).</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/core/store_errors.py" />
            <source>The output of {tool} is too large to store ({size}).</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/remote/client.py" />
            <source>The process that manages it ended (process {process}).</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/remote/client.py" />
            <source>The process that manages it hasn't answered for {seconds} s (process {process}).</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/remote/server_connection.py" />
            <source>The process that manages the workspace data couldn't answer.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/search_query.py" />
            <source>The query has {count} characters; the limit is {limit}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/search_query.py" />
            <source>The query is empty.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/archive/reader.py" />
            <source>The record of its output {digest} is invalid.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/open/repair_ladder.py" />
            <source>The recovered data is inconsistent: {problem}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/remote/server_connection.py" />
            <source>The request was refused.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/remote/session_leases.py" />
            <source>The session {session} is being written by another process.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/remote/session_leases.py" />
            <source>The session {session} is open in the window of this workspace.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/redaction/leveldb_redaction.py" />
            <source>The text was removed, but it is being written again.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/repair/integrity_check.py" />
            <source>The totals say {stated} bytes on disk, but there are {actual}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/repair/integrity_check.py" />
            <source>The totals say {stated} bytes, but there are {actual}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/repair/integrity_check.py" />
            <source>The totals say {stated} entries, but there are {actual}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/repair/integrity_check.py" />
            <source>The totals say {stated} sessions, but there are {actual}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/remote/open_store.py" />
            <source>The two can't communicate ({detail}).</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/core/store_errors.py" />
            <source>The user removed the cached output {digest} on {day}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/files/store_files.py" />
            <location filename="../../helix_desktop/store/leveldb/database.py" />
            <source>The workspace data can't be read.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/files/owner_lock.py" />
            <location filename="../../helix_desktop/store/open/open_files.py" />
            <source>The workspace data can't be written: {folder}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/open/migration.py" />
            <source>The workspace data couldn't be upgraded from schema {old} to {new}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/open/repair_ladder.py" />
            <source>The workspace data is damaged and couldn't be repaired.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/leveldb/identity.py" />
            <source>The workspace data was written by another version of Helix Desktop.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/core/store_errors.py" />
            <source>The workspace is closed.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/archive/importer.py" />
            <source>There isn't enough disk space to import {file}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/archive/archive_format.py" />
            <source>This file can't be imported.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/core/store_errors.py" />
            <source>This is too much to store at once ({size}).</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/core/store_errors.py" />
            <source>This workspace has no cached output {digest}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/files/owner_lock.py" />
            <source>This workspace is already open here.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/files/owner_lock.py" />
            <source>This workspace is in use by another process.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/files/owner_lock.py" />
            <location filename="../../helix_desktop/store/remote/session_leases.py" />
            <source>This workspace is in use by another running Helix Desktop (process {process}).</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/remote/open_store.py" />
            <source>This workspace is in use by another version of Helix Desktop.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/remote/client.py" />
            <source>Try again. The saved data is read again.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/files/owner_lock.py" />
            <source>Use that window, or close it and try again.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/files/owner_lock.py" />
            <source>Use the window it is open in.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/remote/session_leases.py" />
            <source>Wait until it ends, or start another session.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/core/store_errors.py" />
            <source>While another window has the workspace open, the limit is {limit}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/core/store_errors.py" />
            <source>Without the secret it is {digest}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/leveldb/database.py" />
            <source>{file} already exists.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/repair/salvage.py" />
            <source>{file} can't be read ({reason})</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/archive/importer.py" />
            <location filename="../../helix_desktop/store/archive/reader.py" />
            <source>{file} can't be read.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/repair/leveldb_manifest.py" />
            <location filename="../../helix_desktop/store/repair/preflight.py" />
            <source>{file} has {actual} of {size} bytes</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/repair/preflight.py" />
            <source>{file} is missing</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/store/repair/preflight.py" />
            <source>{file} is missing %n changes</source>
            <translation>
                <numerusform>{file} is missing %n change</numerusform>
                <numerusform>{file} is missing %n changes</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/store/archive/archive_format.py" />
            <source>{file} wasn't written.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/leveldb/database.py" />
            <source>{needed} are needed; {free} are free.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/store/open/repair_ladder.py" />
            <source>{problem}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/redaction/redaction.py" />
            <source>{text} is part of the mark that replaces secrets.</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Store reports</name>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>%n MCP servers: rewritten, need your approval again</source>
            <translation>
                <numerusform>%n MCP server: rewritten, needs your approval again</numerusform>
                <numerusform>%n MCP servers: rewritten, need your approval again</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>%n added as separate sessions</source>
            <translation>
                <numerusform>%n added as a separate session</numerusform>
                <numerusform>%n added as separate sessions</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>%n app logs: rewritten</source>
            <translation>
                <numerusform>%n app log: rewritten</numerusform>
                <numerusform>%n app logs: rewritten</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>%n cached outputs</source>
            <translation>
                <numerusform>%n cached output</numerusform>
                <numerusform>%n cached outputs</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>%n cached outputs are gone, with their digests.</source>
            <translation>
                <numerusform>%n cached output is gone, with its digest.</numerusform>
                <numerusform>%n cached outputs are gone, with their digests.</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>%n cached outputs couldn't be recovered: {names}.</source>
            <translation>
                <numerusform>%n cached output couldn't be recovered: {names}.</numerusform>
                <numerusform>%n cached outputs couldn't be recovered: {names}.</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>%n cached outputs: removed permanently</source>
            <translation>
                <numerusform>%n cached output: removed permanently</numerusform>
                <numerusform>%n cached outputs: removed permanently</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>%n damaged or lost entries aren't in the file.</source>
            <translation>
                <numerusform>%n damaged or lost entry isn't in the file.</numerusform>
                <numerusform>%n damaged or lost entries aren't in the file.</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>%n damaged records: deleted</source>
            <translation>
                <numerusform>%n damaged record: deleted</numerusform>
                <numerusform>%n damaged records: deleted</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>%n data copies kept by a repair: deleted</source>
            <translation>
                <numerusform>%n data copy kept by a repair: deleted</numerusform>
                <numerusform>%n data copies kept by a repair: deleted</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>%n entries</source>
            <translation>
                <numerusform>%n entry</numerusform>
                <numerusform>%n entries</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>%n entries added, {known} already present.</source>
            <translation>
                <numerusform>%n entry added, {known} already present.</numerusform>
                <numerusform>%n entries added, {known} already present.</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>%n entry descriptions: rewritten</source>
            <translation>
                <numerusform>%n entry description: rewritten</numerusform>
                <numerusform>%n entry descriptions: rewritten</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>%n events</source>
            <translation>
                <numerusform>%n event</numerusform>
                <numerusform>%n events</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>%n extended</source>
            <comment>sessions</comment>
            <translation>
                <numerusform>%n extended</numerusform>
                <numerusform>%n extended</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>%n index entries: rewritten without it</source>
            <translation>
                <numerusform>%n index entry: rewritten without it</numerusform>
                <numerusform>%n index entries: rewritten without it</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>%n lists of changed files are lost.</source>
            <translation>
                <numerusform>%n list of changed files is lost.</numerusform>
                <numerusform>%n lists of changed files are lost.</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>%n lists of changed files: rewritten</source>
            <translation>
                <numerusform>%n list of changed files: rewritten</numerusform>
                <numerusform>%n lists of changed files: rewritten</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>%n more</source>
            <comment>files in a list</comment>
            <translation>
                <numerusform>%n more</numerusform>
                <numerusform>%n more</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>%n more</source>
            <comment>things in a list</comment>
            <translation>
                <numerusform>%n more</numerusform>
                <numerusform>%n more</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>%n new</source>
            <comment>sessions</comment>
            <translation>
                <numerusform>%n new</numerusform>
                <numerusform>%n new</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>%n permission rules: removed</source>
            <translation>
                <numerusform>%n permission rule: removed</numerusform>
                <numerusform>%n permission rules: removed</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>%n previous file versions: removed permanently</source>
            <translation>
                <numerusform>%n previous file version: removed permanently</numerusform>
                <numerusform>%n previous file versions: removed permanently</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>%n records couldn't be read.</source>
            <translation>
                <numerusform>%n record couldn't be read.</numerusform>
                <numerusform>%n records couldn't be read.</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>%n session events: rewritten</source>
            <translation>
                <numerusform>%n session event: rewritten</numerusform>
                <numerusform>%n session events: rewritten</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>%n session titles: rewritten</source>
            <translation>
                <numerusform>%n session title: rewritten</numerusform>
                <numerusform>%n session titles: rewritten</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>%n sessions</source>
            <translation>
                <numerusform>%n session</numerusform>
                <numerusform>%n sessions</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>%n sessions with damaged logs aren't in the file.</source>
            <translation>
                <numerusform>%n session with a damaged log isn't in the file.</numerusform>
                <numerusform>%n sessions with damaged logs aren't in the file.</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>%n skipped because they are open</source>
            <translation>
                <numerusform>%n skipped because it is open</numerusform>
                <numerusform>%n skipped because they are open</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>%n unchanged</source>
            <comment>sessions</comment>
            <translation>
                <numerusform>%n unchanged</numerusform>
                <numerusform>%n unchanged</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>%n unsent messages: rewritten</source>
            <translation>
                <numerusform>%n unsent message: rewritten</numerusform>
                <numerusform>%n unsent messages: rewritten</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>%n versions of deleted sessions.</source>
            <translation>
                <numerusform>%n version of deleted sessions.</numerusform>
                <numerusform>%n versions of deleted sessions.</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>%n versions over the maximum of {quota}, the oldest. Their changes can't be undone any more.</source>
            <translation>
                <numerusform>%n version over the maximum of {quota}. Its change can't be undone any more.</numerusform>
                <numerusform>%n versions over the maximum of {quota}, the oldest. Their changes can't be undone any more.</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>A previous version of {files} is damaged and can't be restored.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>Already in the trash</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>Always kept: {reasons}.</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>Can be removed: %n versions, {size} on disk.</source>
            <translation>
                <numerusform>Can be removed: %n version, {size} on disk.</numerusform>
                <numerusform>Can be removed: %n versions, {size} on disk.</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>Contains {entries} and {sessions}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>Delete sessions, unpin entries or raise the maximum size.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>Events after a gap are kept as text in {folder}.</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>File history: %n versions, {size} of {quota} on disk</source>
            <translation>
                <numerusform>File history: %n version, {size} of {quota} on disk</numerusform>
                <numerusform>File history: %n versions, {size} of {quota} on disk</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>File history: %n versions, {size} on disk</source>
            <translation>
                <numerusform>File history: %n version, {size} on disk</numerusform>
                <numerusform>File history: %n versions, {size} on disk</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>If this happens again, check the disk.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>It can be removed when no session uses it. For secrets, use Remove a secret.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>It can be removed with the session of that note or summary.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>It is pinned.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>It stays {size} over the maximum: your files as they are now need that.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>Kept: eligible, but excluded by these settings</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>Kept: pinned</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>Kept: used by notes and summaries</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>Kept: used by sessions</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>Kept: used in the last 24 hours</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>No sessions.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>Nothing was lost.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>Other data was lost; how much is unknown.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>Run the tool again to get a lost output back.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>Sessions: {changes}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>Shortened sessions: {names}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>Still readable: {items}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>The cache is {size} over its maximum of {quota}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>The damaged files are kept in {folder}. Delete them when nothing is missing.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>The file history is damaged: {problem}</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>The last %n changes are missing.</source>
            <translation>
                <numerusform>The last change is missing.</numerusform>
                <numerusform>The last %n changes are missing.</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>The newest data of this workspace is missing.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>Unpin it first.</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>Used by %n messages.</source>
            <translation>
                <numerusform>Used by %n message.</numerusform>
                <numerusform>Used by %n messages.</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>Used by a note or summary.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>Workspace data was damaged and has been repaired.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>Your own files aren't changed. It is still in {files}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>{problem}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>{size} on disk</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>{size} pinned</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>{size} used by notes and summaries</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>{size} used by sessions</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>{size} used in the last 24 hours</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/store_reports.py" />
            <source>{title} ({kept} of {total} events left)</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Timeline</name>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/timeline/cards.py" />
            <source>%n calls</source>
            <translation>
                <numerusform>%n call</numerusform>
                <numerusform>%n calls</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/timeline/fold_view.py" />
            <source>%n characters</source>
            <translation>
                <numerusform>%n character</numerusform>
                <numerusform>%n characters</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/timeline/observations_view.py" />
            <source>%n facts</source>
            <translation>
                <numerusform>%n fact</numerusform>
                <numerusform>%n facts</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/timeline/handover_view.py" />
            <location filename="../../helix_desktop/ui/timeline/observations_view.py" />
            <location filename="../../helix_desktop/ui/timeline/present_view.py" />
            <source>%n messages</source>
            <translation>
                <numerusform>%n message</numerusform>
                <numerusform>%n messages</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/timeline/handover_view.py" />
            <source>%n messages summarized</source>
            <translation>
                <numerusform>%n message summarized</numerusform>
                <numerusform>%n messages summarized</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/timeline/cards.py" />
            <source>%n more</source>
            <translation>
                <numerusform>%n more</numerusform>
                <numerusform>%n more</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/timeline/handover_view.py" />
            <source>%n points</source>
            <translation>
                <numerusform>%n point</numerusform>
                <numerusform>%n points</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/timeline/handover_view.py" />
            <source>%n sections</source>
            <translation>
                <numerusform>%n section</numerusform>
                <numerusform>%n sections</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/timeline/card_texts.py" />
            <source>%n steps noted</source>
            <translation>
                <numerusform>%n step noted</numerusform>
                <numerusform>%n steps noted</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/timeline/card_texts.py" />
            <source>%n steps removed to fit the context window</source>
            <translation>
                <numerusform>%n step removed to fit the context window</numerusform>
                <numerusform>%n steps removed to fit the context window</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/timeline/chart/usage_chart.py" />
            <source>%n tokens</source>
            <translation>
                <numerusform>%n token</numerusform>
                <numerusform>%n tokens</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/words/fallbacks.py" />
            <source>A fallback: one call of the summary model was not enough, so parts, another model or no model.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/observations_view.py" />
            <source>A later observation says that it's over. It left the context.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/coverage.py" />
            <source>Added below it: {names}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/coverage.py" />
            <source>Added below it: {names} and {count} more</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/card_texts.py" />
            <source>All</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/view.py" />
            <source>Back to now</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/card_texts.py" />
            <source>Cached</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/running_view.py" />
            <source>Cancel</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/running_view.py" />
            <source>Cancel without changing anything</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/card_texts.py" />
            <source>Check</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/fallbacks.py" />
            <source>Choose another model for summaries in Settings → Model roles.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/card_texts.py" />
            <source>Compacting</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/present_texts.py" />
            <source>Compaction starts at {share}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/handover_view.py" />
            <source>Compare {title} with another handover</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/handover_view.py" />
            <location filename="../../helix_desktop/ui/timeline/present_view.py" />
            <source>Compare…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/present_texts.py" />
            <source>Context management is off.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/present_view.py" />
            <source>Continued in “{title}”</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/present_view.py" />
            <source>Copy</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/present_view.py" />
            <source>Copy the whole handover as Markdown</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/handover_view.py" />
            <source>Edit {title}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/handover_view.py" />
            <source>Edited by you</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/handover_view.py" />
            <source>Edit…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/handover_view.py" />
            <source>Export as Markdown…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/observations_view.py" />
            <source>Facts</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/card_texts.py" />
            <source>Facts about older messages, written in the background for later use.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/card_texts.py" />
            <source>Failed</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/words/fallbacks.py" />
            <source>Fallbacks in this workspace: {count} of %n summaries ({share})</source>
            <translation>
                <numerusform>Fallbacks in this workspace: {count} of %n summary ({share})</numerusform>
                <numerusform>Fallbacks in this workspace: {count} of %n summaries ({share})</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/present_card.py" />
            <source>Files, commands and errors</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/filter_bar.py" />
            <source>Filter timeline</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/handover_view.py" />
            <source>Focus: {focus}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/handover_view.py" />
            <source>From “{title}”</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/handover_view.py" />
            <location filename="../../helix_desktop/ui/timeline/present_view.py" />
            <source>Full handover</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/present_card.py" />
            <source>Handover</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/present_view.py" />
            <source>Handover as it would be now</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/card_texts.py" />
            <source>Handover of “{title}”</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/card_texts.py" />
            <source>Handover {number}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/card_texts.py" />
            <source>Handover {number}, edited</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/card_texts.py" />
            <source>Handover {number}, run again</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/cards.py" />
            <source>Hide digests</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/observations_view.py" />
            <source>In use</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/timeline/cards.py" />
            <source>Index of %n cached outputs: {digest}</source>
            <translation>
                <numerusform>Index of %n cached output: {digest}</numerusform>
                <numerusform>Index of %n cached outputs: {digest}</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/words/fallbacks.py" />
            <source>Latest reason:</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/chart/scrubber.py" />
            <source>Look at an earlier step</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/present_view.py" />
            <source>Made from the log. Nothing is stored or sent.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/card_texts.py" />
            <source>Merged note {number}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/observations_view.py" />
            <source>Minor</source>
            <comment>priority of a fact</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/handover_view.py" />
            <source>More actions</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/coverage.py" />
            <source>Names {counts}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/bullet_view.py" />
            <source>No source</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/present_card.py" />
            <source>Not in it, but can be recalled: {names}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/fold_view.py" />
            <source>Note</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/card_texts.py" />
            <source>Note {number}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/card_texts.py" />
            <source>Noted</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/card_texts.py" />
            <source>Noted as observations</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/card_texts.py" />
            <source>Noted as observations {number}</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/timeline/card_texts.py" />
            <source>Notes of %n steps merged into one</source>
            <translation>
                <numerusform>Notes of %n step merged into one</numerusform>
                <numerusform>Notes of %n steps merged into one</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/present_texts.py" />
            <source>Nothing was compacted yet. The context is {used} full.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/present_texts.py" />
            <source>Nothing was compacted yet: cached outputs keep the context at {used}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/present_texts.py" />
            <source>Nothing was compacted yet: notes and cached outputs keep the context at {used}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/present_texts.py" />
            <source>Nothing was compacted yet: notes keep the context at {used}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/chart/scrubber.py" />
            <source>Now</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/card_texts.py" />
            <source>Observations</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/card_texts.py" />
            <source>Observations merged into fewer, without outdated facts.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/card_texts.py" />
            <source>Observations {number}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/cards.py" />
            <source>Open in cache</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/cards.py" />
            <source>Open session</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/card_texts.py" />
            <source>Outputs that you pinned or sent to the agent in another form.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/observations_view.py" />
            <source>Over</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/cards.py" />
            <location filename="../../helix_desktop/ui/timeline/fold_view.py" />
            <source>Part of {title}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/observations_view.py" />
            <source>Prepared</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/observations_view.py" />
            <source>Priority {number} of {count}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/cards.py" />
            <source>Prompt version: {version}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/card_texts.py" />
            <source>Read</source>
            <comment>phase of a compaction: the history is read</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/cards.py" />
            <source>Redo</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/card_texts.py" />
            <source>Redone: {title}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/card_texts.py" />
            <source>Refined observations</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/card_texts.py" />
            <source>Refined observations {number}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/card_texts.py" />
            <source>Removed steps {number}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/cards.py" />
            <source>Replaced by {title}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/cards.py" />
            <source>Restored when {title} is undone</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/cards.py" />
            <source>Retry</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/handover_view.py" />
            <source>Run again…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/handover_view.py" />
            <source>Said there, verbatim</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/card_texts.py" />
            <source>Save</source>
            <comment>phase of a compaction: the summary is recorded</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/cards.py" />
            <source>Show</source>
            <comment>button: show this in the chat</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/cards.py" />
            <source>Show digests</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/fold_view.py" />
            <source>Show first step in chat</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/handover_view.py" />
            <location filename="../../helix_desktop/ui/timeline/observations_view.py" />
            <source>Show in chat</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/cards.py" />
            <source>Show in chat: {title}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/bullet_view.py" />
            <source>Show source in chat</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/present_view.py" />
            <source>Start a session whose context begins with this handover</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/handover_view.py" />
            <location filename="../../helix_desktop/ui/timeline/present_view.py" />
            <source>Start new session</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/card_texts.py" />
            <source>Summarize</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/card_texts.py" />
            <source>Summarized</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/present_texts.py" />
            <source>The context is {used} full.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/view.py" />
            <source>The handover of this conversation, and what leaves its context, appear here.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/bullet_view.py" />
            <source>The model named no source for this sentence</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/view.py" />
            <source>Timeline</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/timeline/chart/usage_chart.py" />
            <source>Tokens in context: now {used} of {size}, at most {peak}, reduced %n times</source>
            <translation>
                <numerusform>Tokens in context: now {used} of {size}, at most {peak}, reduced once</numerusform>
                <numerusform>Tokens in context: now {used} of {size}, at most {peak}, reduced %n times</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/cards.py" />
            <source>Tokens sent and received by the model calls, and their cost</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/cards.py" />
            <source>Undo</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/card_texts.py" />
            <source>Undo and redo</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/cards.py" />
            <location filename="../../helix_desktop/ui/timeline/fold_view.py" />
            <location filename="../../helix_desktop/ui/timeline/handover_view.py" />
            <location filename="../../helix_desktop/ui/timeline/observations_view.py" />
            <source>Undone</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/card_texts.py" />
            <source>Undone: {title}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/card_texts.py" />
            <source>Updating observations</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/cards.py" />
            <source>Used {amount}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/observations_view.py" />
            <source>Useful</source>
            <comment>priority of a fact</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/observations_view.py" />
            <source>Vital</source>
            <comment>priority of a fact</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/present_view.py" />
            <source>What the active handover says otherwise</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/present_texts.py" />
            <source>With every message in full, it would be {share}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/present_view.py" />
            <source>Without a model</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/present_view.py" />
            <source>Write a draft, read and edit it, then compact or start a session</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/view.py" />
            <source>Write a message</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/present_view.py" />
            <source>Write with a model…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/view.py" />
            <source>You're looking at {step}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/card_texts.py" />
            <source>Your choices</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/observations_view.py" />
            <source>Your messages, word for word</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/card_texts.py" />
            <source>after a failed attempt</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/card_texts.py" />
            <source>after a redo</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/card_texts.py" />
            <source>after an undo</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/card_texts.py" />
            <source>after messages were noted as observations</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/card_texts.py" />
            <source>after messages were summarized</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/card_texts.py" />
            <source>after outputs were cached</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/card_texts.py" />
            <source>after steps were noted</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/card_texts.py" />
            <source>after you sent an output in another form</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/handover_view.py" />
            <source>empty</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/view.py" />
            <source>of {size} tokens in context</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/chart/plot.py" />
            <source>{day} {clock}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/filter_bar.py" />
            <source>{kind} {count}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/coverage.py" />
            <source>{named} of {total} commands</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/coverage.py" />
            <source>{named} of {total} digests</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/coverage.py" />
            <source>{named} of {total} files</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/coverage.py" />
            <source>{named} of {total} instructions</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/coverage.py" />
            <source>{named} of {total} instructions, {verbatim} more verbatim</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/coverage.py" />
            <source>{named} of {total} numbers</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/present_card.py" />
            <source>{names} and {count} more</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/running_view.py" />
            <source>{phase}, step {number} of {count}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/chart/usage_chart.py" />
            <source>{share} of {size}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/timeline/cards.py" />
            <location filename="../../helix_desktop/ui/timeline/handover_view.py" />
            <source>{tokens} tokens</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Times</name>
        <message>
            <location filename="../../helix_desktop/words/times.py" />
            <source>Yesterday</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/times.py" />
            <source>earlier</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/times.py" />
            <source>now</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/times.py" />
            <source>{day} {clock}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/times.py" />
            <source>{day}, {clock}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/times.py" />
            <source>{minutes} min ago</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/times.py" />
            <source>{minutes} min {seconds} s</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/times.py" />
            <source>{number} ms</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/words/times.py" />
            <source>{number} s</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Tools</name>
        <message>
            <location filename="../../helix_desktop/domain/permissions/rules.py" />
            <source>A rule of this kind can't be typed.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/tools.py" />
            <source>Always ask before: {action}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/tools.py" />
            <source>Change any file</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/tools.py" />
            <source>Change any file in {folder}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/tools.py" />
            <source>Change the file {file}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/tools/cache/regex_lines.py" />
            <source>Correct it, or put \ before a sign that stands for itself.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/tools.py" />
            <source>Edit any file</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/tools.py" />
            <source>Edit any files</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/tools/files/change.py" />
            <source>Edit {count} files</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/tools/files/change.py" />
            <source>Edit {file}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/permissions/rules.py" />
            <source>Enter a name such as: docs.python.org</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/permissions/rules.py" />
            <source>Enter a path such as: src/app</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/permissions/rules.py" />
            <source>Enter its first words, such as: git push *</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/tools/web/fetch_url.py" />
            <source>Fetch a page from {host}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/tools.py" />
            <source>Fetch from {host}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/tools/shell/run_command.py" />
            <source>It can read what {file} excludes: commands can't be held to it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/tools.py" />
            <source>Never: {action}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/tools/shell/sandbox.py" />
            <source>Not sandboxed: it can do anything you can, on this computer and the network.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/tools/shell/run_command.py" />
            <source>Run a command in the workspace.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/tools/shell/run_command.py" />
            <source>Run a command in {folder}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/tools.py" />
            <source>Run any command</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/tools.py" />
            <source>Run commands like: {command}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/tools.py" />
            <source>Run: {command}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/tools/shell/sandbox.py" />
            <source>Sandboxed (Landlock): writes only in the workspace, including .git/hooks; network allowed.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/tools/shell/sandbox.py" />
            <source>Sandboxed (Landlock): writes only in the workspace, including .git/hooks; no network.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/tools/shell/sandbox.py" />
            <source>Sandboxed (bubblewrap), but your home folder is inside the workspace; network allowed.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/tools/shell/sandbox.py" />
            <source>Sandboxed (bubblewrap), but your home folder is inside the workspace; no network.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/tools/shell/sandbox.py" />
            <source>Sandboxed (bubblewrap): writes only in the workspace; network allowed.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/tools/shell/sandbox.py" />
            <source>Sandboxed (bubblewrap): writes only in the workspace; no network.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/permissions/rules.py" />
            <source>The command is missing.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/permissions/rules.py" />
            <source>The folder must be inside the workspace.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/permissions/rules.py" />
            <source>The host name is invalid.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/tools/cache/regex_lines.py" />
            <source>The regular expression can't be read.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/tools/cache/regex_lines.py" />
            <source>The search failed.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/tools.py" />
            <source>Use any tool of the MCP server {server}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/tools.py" />
            <source>Use {tool} of the MCP server {server}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/tools.py" />
            <source>Use {tool}, whatever it is asked</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/tools.py" />
            <source>Use {tool}: {subject}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/tools.py" />
            <source>Write any file</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/tools/files/change.py" />
            <source>Write {file}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/tools.py" />
            <source>change any file</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/tools.py" />
            <source>change any file in {folder}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/tools.py" />
            <source>change the file {file}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/tools.py" />
            <source>edit any file</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/tools.py" />
            <source>edit any files</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/tools.py" />
            <source>fetch from {host}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/tools.py" />
            <source>run any command</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/tools.py" />
            <source>run commands like: {command}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/tools.py" />
            <source>run: {command}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/tools.py" />
            <source>use any tool of the MCP server {server}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/tools.py" />
            <source>use {tool} of the MCP server {server}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/tools.py" />
            <source>use {tool}, whatever it is asked</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/tools.py" />
            <source>use {tool}: {subject}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/tools.py" />
            <source>write any file</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/domain/tools.py" />
            <source>{rule}, in the sandbox</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Trust</name>
        <message>
            <location filename="../../helix_desktop/ui/trust/dialog.py" />
            <source>Do you trust {folder}?</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/trust/dialog.py" />
            <source>Files may contain instructions that mislead the agent (prompt injection).</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/trust/dialog.py" />
            <source>In restricted mode, nothing runs or is sent. You can view sessions and cache, and trust the folder later.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/trust/dialog.py" />
            <source>No auto-run files found.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/trust/dialog.py" />
            <source>Open in restricted mode</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/trust/dialog.py" />
            <source>Other programs run or follow these files (Helix Desktop doesn't):</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/trust/dialog.py" />
            <source>The agent can change files and run commands if you or your rules allow it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/trust/dialog.py" />
            <source>The agent can read the files and send them to your model.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/trust/dialog.py" />
            <source>Trust folder</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/trust/dialog.py" />
            <source>Trust it only if you know what it contains. In a trusted folder:</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/trust/dialog.py" />
            <source>Trust this folder?</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Welcome</name>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/onboarding/found_servers.py" />
            <source>%n more</source>
            <translation>
                <numerusform>%n more</numerusform>
                <numerusform>%n more</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/ui/onboarding/pages.py" />
            <source>A project becomes a workspace with its own cache, sessions and rules. You can drop it here.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/onboarding/pages.py" />
            <source>A sample project with the offline demo model: no key, no network. See outputs leave the context and return.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/onboarding/pages.py" />
            <source>A session is one conversation with the agent in this workspace.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/onboarding/found_servers.py" />
            <source>Add</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/onboarding/pages.py" />
            <source>Add provider…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/onboarding/found_servers.py" />
            <source>Add {server}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/onboarding/found_servers.py" />
            <source>Added</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/onboarding/pages.py" />
            <source>An AI coding agent whose context stays small, complete and visible. Large outputs leave the context as markers, and the agent can recall every byte.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/onboarding/pages.py" />
            <source>Choose a session in {workspace}, or start one</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/onboarding/pages.py" />
            <source>Connect a model</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/onboarding/pages.py" />
            <source>Find local servers</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/onboarding/pages.py" />
            <source>Locate…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/onboarding/found_servers.py" />
            <source>Model server</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/onboarding/pages.py" />
            <source>New session</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/onboarding/pages.py" />
            <source>New session, from anywhere in the window</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/onboarding/found_servers.py" />
            <source>No model server found on ports 11434, 1234, 8080 and 8000. Start one and search again.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/onboarding/found_servers.py" />
            <source>No models yet</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/onboarding/pages.py" />
            <source>No sessions in {workspace} yet</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/onboarding/pages.py" />
            <source>Nothing runs or is sent until you send a message.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/onboarding/pages.py" />
            <source>Open a folder</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/onboarding/pages.py" />
            <source>Open folder…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/onboarding/pages.py" />
            <source>Open read-only</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/onboarding/pages.py" />
            <source>Paste the API key of Anthropic, OpenAI, Gemini or another provider, or use a server on this computer: Ollama, LM Studio, llama.cpp or vLLM.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/onboarding/pages.py" />
            <source>Remove from list</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/onboarding/pages.py" />
            <source>Removing only hides it here. Its data is kept.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/onboarding/found_servers.py" />
            <source>Searching the ports of Ollama, LM Studio, llama.cpp and vLLM…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/onboarding/pages.py" />
            <source>Sessions, cache and timeline are safe: they aren't stored in the folder. If you moved the folder, locate it to continue.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/onboarding/pages.py" />
            <source>Start sample</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/onboarding/pages.py" />
            <source>The folder of {workspace} is missing</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/onboarding/pages.py" />
            <source>Try the guided sample</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/onboarding/pages.py" />
            <source>Welcome to Helix Desktop</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/onboarding/found_servers.py" />
            <source>loaded</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/onboarding/found_servers.py" />
            <source>not loaded</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/onboarding/found_servers.py" />
            <source>{server} is added</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/onboarding/found_servers.py" />
            <source>{tokens} context</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Window</name>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/shell/crash_notice.py" />
            <source>%n drafts</source>
            <translation>
                <numerusform>%n draft</numerusform>
                <numerusform>%n drafts</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/shell/crash_notice.py" />
            <source>%n interrupted turns</source>
            <translation>
                <numerusform>%n interrupted turn</numerusform>
                <numerusform>%n interrupted turns</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/shell/top_bar.py" />
            <source>%n messages</source>
            <translation>
                <numerusform>%n message</numerusform>
                <numerusform>%n messages</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/shell/switcher/panel.py" />
            <source>%n messages found</source>
            <translation>
                <numerusform>%n message found</numerusform>
                <numerusform>%n messages found</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/shell/crash_notice.py" />
            <source>%n queued messages</source>
            <translation>
                <numerusform>%n queued message</numerusform>
                <numerusform>%n queued messages</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/shell/sidebar/session_model.py" />
            <source>%n sessions</source>
            <translation>
                <numerusform>%n session</numerusform>
                <numerusform>%n sessions</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/menus.py" />
            <source>&amp;Edit</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/menus.py" />
            <source>&amp;File</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/menus.py" />
            <source>&amp;Help</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/menus.py" />
            <source>&amp;Session</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/menus.py" />
            <source>&amp;View</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/switcher/panel.py" />
            <source>&gt; commands  ·  @ sessions  ·  # messages</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/crash_notice.py" />
            <source>API keys, logins and the path of your home folder are removed. Nothing is sent.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/actions.py" />
            <source>About Helix Desktop</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/key_bindings.py" />
            <source>Alt with a letter opens menus or types signs. Add {control}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/top_bar.py" />
            <source>Answers come from a built-in script. No model or network is used.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/sidebar/session_list.py" />
            <source>Archive</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/shortcuts.py" />
            <source>Archive or unarchive a session</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/actions.py" />
            <source>Archive session</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/sidebar/rows.py" />
            <source>Archived</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/mode_button.py" />
            <source>Ask</source>
            <comment>mode</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/actions.py" />
            <source>Ask a side question…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/actions.py" />
            <source>Ask before every change</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/mode_button.py" />
            <source>Ask: the agent asks before it edits files or runs commands</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/mode_button.py" />
            <source>Auto</source>
            <comment>mode</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/actions.py" />
            <source>Auto: edit files and run sandboxed commands</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/mode_button.py" />
            <source>Auto: the agent edits files and runs sandboxed commands without asking</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/actions.py" />
            <source>Back up all workspaces…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/actions.py" />
            <source>Branch session</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/actions.py" />
            <location filename="../../helix_desktop/ui/shell/top_bar.py" />
            <source>Cache</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/sidebar/sidebar.py" />
            <source>Cache: empty</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/switcher/delegate.py" />
            <source>Cache: {size}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/sidebar/sidebar.py" />
            <source>Cache: {usage}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/jobs.py" />
            <source>Cancel</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/jobs.py" />
            <source>Cancel: {job}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/actions.py" />
            <source>Change policy…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/actions.py" />
            <location filename="../../helix_desktop/ui/shell/top_bar.py" />
            <source>Changes</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/actions.py" />
            <source>Changes since last commit</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/actions.py" />
            <location filename="../../helix_desktop/ui/shell/top_bar.py" />
            <source>Chat</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/actions.py" />
            <source>Choose model…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/sidebar/sidebar.py" />
            <source>Choose workspace</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/actions.py" />
            <source>Clean up…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/sidebar/sidebar.py" />
            <source>Clear search</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/context_gauge.py" />
            <source>Click to show or hide the context inspector.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/crash_notice.py" />
            <source>Close</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/actions.py" />
            <source>Close page</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/command_palette.py" />
            <source>Command palette</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/actions.py" />
            <source>Command palette…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/switcher/panel.py" />
            <source>Commands</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/top_bar.py" />
            <source>Compact conversation</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/actions.py" />
            <source>Compact conversation…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/shortcuts.py" />
            <source>Complete a file, cached output or command</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/actions.py" />
            <location filename="../../helix_desktop/ui/shell/top_bar.py" />
            <source>Context inspector</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/context_gauge.py" />
            <source>Context: {usage}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/actions.py" />
            <location filename="../../helix_desktop/ui/shell/crash_notice.py" />
            <source>Copy</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/sidebar/rail.py" />
            <location filename="../../helix_desktop/ui/shell/sidebar/session_list.py" />
            <source>Copy link</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/key_bindings.py" />
            <source>Ctrl</source>
            <comment>key</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/actions.py" />
            <source>Cut</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/actions.py" />
            <source>Dark theme</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/top_bar.py" />
            <source>Demo</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/banners.py" />
            <source>Dismiss</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/top_bar.py" />
            <source>Double-click to rename</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/sidebar/rows.py" />
            <source>Earlier</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/shortcuts.py" />
            <source>Earlier message, next message</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/key_bindings.py" />
            <source>Enter always belongs to the message input and to lists.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/key_bindings.py" />
            <source>Esc always stops or closes.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/sidebar/rail.py" />
            <source>Export to file…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/actions.py" />
            <source>Export workspace…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/actions.py" />
            <source>Find</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/actions.py" />
            <source>Focus message input</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/sidebar/rows.py" />
            <source>Folder not found</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/switcher/panel.py" />
            <source>Go to</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/actions.py" />
            <source>Go to…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/actions.py" />
            <source>Guide</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/crash_notice.py" />
            <source>Helix Desktop didn't close properly last time.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/tray.py" />
            <source>Helix Desktop: {title}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/sidebar/rail.py" />
            <source>Import from file…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/actions.py" />
            <source>Keyboard shortcuts</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/key_bindings.py" />
            <source>Keys without {control} or Alt are for typing. Add {control} or Alt.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/actions.py" />
            <source>Larger text</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/actions.py" />
            <source>Light theme</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/sidebar/rail.py" />
            <source>Locate…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/crash_notice.py" />
            <source>Log of the last run</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/switcher/panel.py" />
            <source>Message</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/switcher/panel.py" />
            <source>Messages</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/mode_button.py" />
            <source>Mode: {mode}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/top_bar.py" />
            <source>More actions</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/shortcuts.py" />
            <source>Move a cache entry or session to the trash</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/sidebar/session_list.py" />
            <source>Move to trash</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/shortcuts.py" />
            <source>New line in message</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/actions.py" />
            <location filename="../../helix_desktop/ui/shell/sidebar/sidebar.py" />
            <source>New session</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/shortcuts.py" />
            <source>Next or previous result</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/actions.py" />
            <source>Next pane</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/command_palette.py" />
            <source>No matching commands</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/sidebar/sidebar.py" />
            <source>No matching sessions</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/top_bar.py" />
            <source>No session open</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/crash_notice.py" />
            <source>No work was interrupted. Sessions, drafts and layout are unchanged.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/sidebar/sidebar.py" />
            <source>No workspace</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/actions.py" />
            <source>Normal text size</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/switcher/panel.py" />
            <source>Nothing found</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/top_bar.py" />
            <source>Offline demo model</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/switcher/delegate.py" />
            <source>Open</source>
            <comment>state of a workspace</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/sidebar/session_list.py" />
            <source>Open</source>
            <comment>verb</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/tray.py" />
            <source>Open Helix Desktop</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/sidebar/rail.py" />
            <location filename="../../helix_desktop/ui/shell/sidebar/sidebar.py" />
            <source>Open folder</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/actions.py" />
            <location filename="../../helix_desktop/ui/shell/switcher/panel.py" />
            <source>Open folder…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/crash_notice.py" />
            <source>Open log folder</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/top_bar.py" />
            <source>Pages</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/actions.py" />
            <source>Paste</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/sidebar/session_list.py" />
            <source>Pin</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/shortcuts.py" />
            <source>Pin or unpin a cache entry or session</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/actions.py" />
            <source>Pin session</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/sidebar/rows.py" />
            <source>Pinned</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/mode_button.py" />
            <source>Plan</source>
            <comment>mode</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/actions.py" />
            <source>Plan only (read-only)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/mode_button.py" />
            <source>Plan: the agent only reads and plans</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/switcher/commands.py" />
            <source>Prompt files</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/shortcuts.py" />
            <source>Quick look at a cache entry</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/actions.py" />
            <location filename="../../helix_desktop/ui/shell/tray.py" />
            <source>Quit</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/top_bar.py" />
            <source>Ready</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/actions.py" />
            <source>Reasoning effort…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/shortcuts.py" />
            <source>Recall a cache entry</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/shortcuts.py" />
            <source>Recall a part of a cache entry</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/crash_notice.py" />
            <source>Recovered: {parts}. Sessions and layout are unchanged.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/actions.py" />
            <source>Redo</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/actions.py" />
            <source>Redo last compaction</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/actions.py" />
            <source>Remove a secret…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/sidebar/rail.py" />
            <source>Remove from list…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/shortcuts.py" />
            <source>Rename a session</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/actions.py" />
            <source>Rename session</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/sidebar/rail.py" />
            <location filename="../../helix_desktop/ui/shell/sidebar/session_list.py" />
            <source>Rename…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/actions.py" />
            <source>Rewind…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/sidebar/rows.py" />
            <location filename="../../helix_desktop/ui/shell/top_bar.py" />
            <source>Running</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/command_palette.py" />
            <source>Search commands</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/sidebar/sidebar.py" />
            <source>Search sessions</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/switcher/panel.py" />
            <source>Search workspaces, sessions, messages and commands</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/switcher/panel.py" />
            <source>Searching messages…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/shortcuts.py" />
            <source>Send message</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/switcher/panel.py" />
            <source>Session</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/sidebar/session_delegate.py" />
            <location filename="../../helix_desktop/ui/shell/top_bar.py" />
            <source>Session title</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/sidebar/session_list.py" />
            <location filename="../../helix_desktop/ui/shell/switcher/panel.py" />
            <source>Sessions</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/actions.py" />
            <source>Set session budget…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/sidebar/rail.py" />
            <source>Settings</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/actions.py" />
            <source>Settings…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/sidebar/rail.py" />
            <source>Show folder</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/crash_notice.py" />
            <source>Show log</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/top_bar.py" />
            <source>Show sidebar</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/actions.py" />
            <source>Sidebar</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/actions.py" />
            <source>Slash commands</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/actions.py" />
            <source>Smaller text</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/actions.py" />
            <source>Steer current turn</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/actions.py" />
            <source>Stop agent</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/actions.py" />
            <source>Switch mode</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/sidebar/sidebar.py" />
            <source>Switch workspace</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/actions.py" />
            <source>System theme</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/key_bindings.py" />
            <source>Tab always goes to the next control.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/actions.py" />
            <location filename="../../helix_desktop/ui/shell/top_bar.py" />
            <source>Timeline</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/sidebar/rows.py" />
            <source>Today</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/actions.py" />
            <source>Trash…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/sidebar/session_list.py" />
            <source>Unarchive</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/actions.py" />
            <source>Undo</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/actions.py" />
            <source>Undo last compaction</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/sidebar/session_list.py" />
            <source>Unpin</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/actions.py" />
            <source>Update observations now</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/sidebar/rail.py" />
            <source>Use dark theme</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/sidebar/rail.py" />
            <source>Use light theme</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/shortcuts.py" />
            <source>Verify a cache entry</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/sidebar/rows.py" />
            <location filename="../../helix_desktop/ui/shell/top_bar.py" />
            <source>Waiting for you</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/switcher/panel.py" />
            <source>Workspace</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/sidebar/rail.py" />
            <source>Workspace {name}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/sidebar/rail.py" />
            <source>Workspace {name}, {state}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/sidebar/sidebar.py" />
            <source>Workspace {name}. Switch workspace</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/switcher/panel.py" />
            <source>Workspaces</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/sidebar/rows.py" />
            <source>Yesterday</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/sidebar/sidebar.py" />
            <source>Your sessions appear here.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/sidebar/session_model.py" />
            <source>archived</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/sidebar/session_model.py" />
            <source>branch</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/switcher/commands.py" />
            <source>checked</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/sidebar/session_model.py" />
            <source>collapsed</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/sidebar/session_model.py" />
            <source>expanded</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/switcher/panel.py" />
            <source>new session there</source>
            <comment>what the keys do</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/switcher/panel.py" />
            <source>open</source>
            <comment>what the Enter key does</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/sidebar/session_model.py" />
            <source>pinned</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/command_palette.py" />
            <source>run</source>
            <comment>what the Enter key does</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/sidebar/session_model.py" />
            <source>running</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/sidebar/session_model.py" />
            <source>subagent</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/sidebar/session_model.py" />
            <source>waiting for you</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/crash_notice.py" />
            <source>workspace data of {workspaces} (repaired)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/key_bindings.py" />
            <source>{keys} edits text in text fields.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/key_bindings.py" />
            <source>{keys} has a fixed meaning inside pages and lists.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/sidebar/session_model.py" />
            <source>{share} of the context used</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/actions.py" />
            <source>{words} ({keys})</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/shell/main_window.py" />
            <source>{workspace} — Helix Desktop</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Workspaces</name>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/workspaces/open_external.py" />
            <source>%n cache entries</source>
            <translation>
                <numerusform>%n cache entry</numerusform>
                <numerusform>%n cache entries</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/workspaces/redaction.py" />
            <source>%n damaged entries can't be searched.</source>
            <translation>
                <numerusform>%n damaged entry can't be searched.</numerusform>
                <numerusform>%n damaged entries can't be searched.</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/workspaces/sidebar_presenter.py" />
            <source>%n entries</source>
            <translation>
                <numerusform>%n entry</numerusform>
                <numerusform>%n entries</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/workspaces/cleanup.py" />
            <source>%n entries moved to the trash.</source>
            <translation>
                <numerusform>%n entry moved to the trash.</numerusform>
                <numerusform>%n entries moved to the trash.</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/workspaces/cleanup.py" />
            <source>%n entries stay in the cache.</source>
            <translation>
                <numerusform>%n entry stays in the cache.</numerusform>
                <numerusform>%n entries stay in the cache.</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/workspaces/sidebar_presenter.py" />
            <location filename="../../helix_desktop/ui/workspaces/switcher_presenter.py" />
            <source>%n messages</source>
            <translation>
                <numerusform>%n message</numerusform>
                <numerusform>%n messages</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/workspaces/redaction.py" />
            <source>%n more</source>
            <comment>sessions in a list</comment>
            <translation>
                <numerusform>%n more</numerusform>
                <numerusform>%n more</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/workspaces/backup.py" />
            <source>%n parts are damaged and aren't in the file.</source>
            <translation>
                <numerusform>%n part is damaged and isn't in the file.</numerusform>
                <numerusform>%n parts are damaged and aren't in the file.</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/workspaces/open_external.py" />
            <source>%n sessions</source>
            <translation>
                <numerusform>%n session</numerusform>
                <numerusform>%n sessions</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/workspaces/backup.py" />
            <source>%n workspaces backed up: {size}, verified.</source>
            <translation>
                <numerusform>%n workspace backed up: {size}, verified.</numerusform>
                <numerusform>%n workspaces backed up: {size}, verified.</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/open_external.py" />
            <source>A link points to this workspace: {folder}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/session_places.py" />
            <source>A new message brings it back.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/workspaces/registry.py" />
            <source>Add its folder again.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/switcher_presenter.py" />
            <source>Agent</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/sidebar_presenter.py" />
            <source>Another answer</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/workspaces/registry.py" />
            <source>Another process has locked {file} for {seconds} s.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/session_places.py" />
            <source>Archive session</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/switcher_presenter.py" />
            <source>Archived</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/workspaces/backup.py" />
            <source>Backing up %n workspaces</source>
            <translation>
                <numerusform>Backing up %n workspace</numerusform>
                <numerusform>Backing up %n workspaces</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/backup.py" />
            <source>Backup canceled.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/delete_session.py" />
            <location filename="../../helix_desktop/ui/workspaces/import_export.py" />
            <location filename="../../helix_desktop/ui/workspaces/list_controller.py" />
            <location filename="../../helix_desktop/ui/workspaces/open_external.py" />
            <location filename="../../helix_desktop/ui/workspaces/quit.py" />
            <source>Cancel</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/branches.py" />
            <source>Cancel edit</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/open_external.py" />
            <source>Check the trash (File menu).</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/backup.py" />
            <source>Choose a backup folder</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/workspaces/registry.py" />
            <source>Choose a folder of your own.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/open_external.py" />
            <source>Choose a workspace folder to import into</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/workspaces/registry.py" />
            <source>Choose an existing folder.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/open_external.py" />
            <source>Choose folder…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/list_controller.py" />
            <source>Choose the folder of {workspace}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/workspaces/registry.py" />
            <source>Choose the folder's new location, or open that workspace.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/workspaces/policy_file.py" />
            <source>Correct the file or delete it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/workspaces/registry.py" />
            <source>Correct the file. The workspace's sessions and cache are unchanged.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/sidebar_presenter.py" />
            <source>Edited message</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/branches.py" />
            <source>Editing a message.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/import_export.py" />
            <source>Export {workspace}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/import_export.py" />
            <source>Exporting {workspace}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/sidebar_presenter.py" />
            <source>Folder not found. Sessions are kept.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/backup.py" />
            <source>Folder: {folder}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/workspaces/toml_storage.py" />
            <source>Free up disk space or make {folder} writable, then try again.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/sidebar_presenter.py" />
            <source>From “{title}”</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/open_external.py" />
            <source>Import</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/import_export.py" />
            <source>Import into {workspace}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/open_external.py" />
            <source>Import {file} into {workspace}?</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/open_external.py" />
            <source>Import {file}?</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/open_external.py" />
            <source>Importing only adds; nothing is replaced.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/import_export.py" />
            <source>Importing {file}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/redaction.py" />
            <source>In {sessions}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/workspaces/registry.py" />
            <source>It belongs to Helix Desktop's own data, which an agent could change.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/open_external.py" />
            <source>It contains {sessions} and {entries}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/workspaces/registry.py" />
            <source>It doesn't exist, or is a file.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/open_external.py" />
            <source>It may have been deleted.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/controller.py" />
            <source>It was deleted.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/controller.py" />
            <source>Its outputs can still be recalled here. Look for the session in the trash.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/open_external.py" />
            <source>Its sessions and cache are kept.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/quit.py" />
            <source>Keep running in tray</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/workspaces/policy_file.py" />
            <source>Line {line}: {reason}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/backup.py" />
            <source>No workspace has stored data yet.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/backup.py" />
            <source>No workspace was backed up.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/open_external.py" />
            <source>No workspace with ID {id} is in {folder}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/sidebar_presenter.py" />
            <source>Not open. Sessions are kept.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/backup.py" />
            <source>Nothing to back up.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/cleanup.py" />
            <source>One of them: {reason}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/open_external.py" />
            <source>Open</source>
            <comment>verb</comment>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/controller.py" />
            <source>Open folder</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/open_external.py" />
            <source>Open its folder again: {folder}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/open_external.py" />
            <source>Open the link where it was copied, or import an export of that workspace.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/open_external.py" />
            <source>Open {workspace}?</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/session_places.py" />
            <source>Pin session</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/quit.py" />
            <source>Quit while the agent is working?</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/quit.py" />
            <source>Quitting stops it. Everything so far is saved, and you can continue later.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/list_controller.py" />
            <source>Remove</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/list_controller.py" />
            <source>Remove {workspace} from Helix?</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/list_controller.py" />
            <source>Rename</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/list_controller.py" />
            <source>Rename workspace</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/controller.py" />
            <source>Repairing {workspace}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/list_controller.py" />
            <source>Running tasks stop. Files, sessions and cache are kept.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/branches.py" />
            <source>Sending it continues here. The original conversation stays as it is.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/delete_session.py" />
            <source>Session</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/backup.py" />
            <location filename="../../helix_desktop/ui/workspaces/import_export.py" />
            <source>Show folder</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/open_external.py" />
            <source>Start a session, then open the link again.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/import_export.py" />
            <source>Stop and import</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/delete_session.py" />
            <source>Stop and move to trash</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/quit.py" />
            <source>Stop and quit</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/import_export.py" />
            <source>Stop running tasks to import?</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/delete_session.py" />
            <source>Stop the agent and move this session to the trash?</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/switcher_presenter.py" />
            <source>Subagent</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/controller.py" />
            <source>That session isn't in this workspace.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/notifications.py" />
            <source>The agent has a question</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/notifications.py" />
            <source>The agent is done</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/notifications.py" />
            <source>The agent is waiting for your approval</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/workspaces/quit.py" />
            <source>The agent is working in %n sessions.</source>
            <translation>
                <numerusform>The agent is working in %n session.</numerusform>
                <numerusform>The agent is working in %n sessions.</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/quit.py" />
            <source>The agent is working in “{session}”.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/notifications.py" />
            <source>The agent stopped with an error</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/open_external.py" />
            <source>The cache opens with a session, and this workspace has none.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/open_external.py" />
            <source>The file says it was exported from this workspace on {day}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/open_external.py" />
            <source>The file says it was exported from this workspace.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/open_external.py" />
            <source>The file says it was exported from {workspace} on {day}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/open_external.py" />
            <source>The file says it was exported from {workspace}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/open_external.py" />
            <source>The linked cache entry can't be shown yet.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/workspaces/registry.py" />
            <source>The list of workspaces wasn't changed.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/workspaces/registry.py" />
            <source>The list of workspaces wasn't saved.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/workspaces/policy_file.py" />
            <source>The policy file {file} is invalid.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/workspaces/policy_file.py" />
            <source>The policy wasn't saved.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/import_export.py" />
            <source>The workspace closes during the import. Messages so far are kept.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/workspaces/registry.py" />
            <source>The workspace file {file} is invalid.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/open_external.py" />
            <source>This link points to a session that isn't in {workspace}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/open_external.py" />
            <source>This link points to a workspace that isn't on this computer.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/open_external.py" />
            <source>This link points to {workspace}, which was removed from the list.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/workspaces/registry.py" />
            <source>Try again. If this keeps happening, quit the other Helix Desktop.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/workspaces/registry.py" />
            <source>Two workspaces in one folder would hide each other's sessions.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/session_places.py" />
            <source>Unarchive session</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/cleanup.py" />
            <location filename="../../helix_desktop/ui/workspaces/delete_session.py" />
            <location filename="../../helix_desktop/ui/workspaces/session_places.py" />
            <source>Undo</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/workspaces/policy_file.py" />
            <source>Unknown field {field}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/session_places.py" />
            <source>Unpin session</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/workspaces/registry.py" />
            <source>Workspace {id} not found.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/import_export.py" />
            <source>Workspaces ({pattern});;All files (*)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/switcher_presenter.py" />
            <source>You</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/delete_session.py" />
            <source>You can restore it and its outputs for {days} days.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/delete_session.py" />
            <source>You can restore it and its outputs for {days} days. Its branches stay as they are.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/delete_session.py" />
            <source>You can restore the session.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/workspaces/policy_file.py" />
            <source>a number</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/workspaces/auto_run_files.py" />
            <source>a program that cargo build runs</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/workspaces/auto_run_files.py" />
            <source>a program that pip install runs</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/workspaces/policy_file.py" />
            <source>a whole number</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/workspaces/backup.py" />
            <source>and %n more</source>
            <comment>problems</comment>
            <translation>
                <numerusform>and %n more</numerusform>
                <numerusform>and %n more</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/workspaces/auto_run_files.py" />
            <source>commands that cmake runs</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/workspaces/auto_run_files.py" />
            <source>commands that docker build runs</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/workspaces/auto_run_files.py" />
            <source>commands that just runs</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/workspaces/auto_run_files.py" />
            <source>commands that make runs</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/workspaces/auto_run_files.py" />
            <source>commands that task runs</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/workspaces/auto_run_files.py" />
            <source>containers that an editor builds</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/workspaces/auto_run_files.py" />
            <source>hooks and servers of another agent; not used by Helix</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/workspaces/auto_run_files.py" />
            <source>jobs that run where the project is pushed</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/workspaces/auto_run_files.py" />
            <source>programs that git runs if configured</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/workspaces/auto_run_files.py" />
            <source>programs that git runs on commits</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/workspaces/auto_run_files.py" />
            <source>programs that git runs: {names}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/workspaces/auto_run_files.py" />
            <source>scripts that npm runs, also on install</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/workspaces/auto_run_files.py" />
            <source>servers that other agents start; not used by Helix</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/workspaces/auto_run_files.py" />
            <source>sets the environment of every shell in the folder</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/workspaces/auto_run_files.py" />
            <source>settings that an editor applies</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/workspaces/auto_run_files.py" />
            <source>tasks that an editor runs</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/workspaces/policy_file.py" />
            <source>text</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/workspaces/policy_file.py" />
            <source>true or false</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <location filename="../../helix_desktop/ui/workspaces/backup.py" />
            <source>{count} of %n workspaces backed up: {size}, verified.</source>
            <translation>
                <numerusform>{count} of %n workspace backed up: {size}, verified.</numerusform>
                <numerusform>{count} of %n workspaces backed up: {size}, verified.</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../helix_desktop/workspaces/policy_file.py" />
            <source>{field} must be {expected} (got {actual}).</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/import_export.py" />
            <source>{file} exported: {size}, verified.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/import_export.py" />
            <source>{file} imported.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/workspaces/registry.py" />
            <source>{folder} can't be a workspace.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/workspaces/registry.py" />
            <source>{folder} is the folder of the workspace {name}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/workspaces/registry.py" />
            <source>{path} isn't a folder.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/workspaces/policy_file.py" />
            <source>{reason}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/cleanup.py" />
            <source>{size} on disk. You can restore from the trash.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/backup.py" />
            <source>{workspace}: {problem}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/redaction.py" />
            <source>“{title}”</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/session_places.py" />
            <source>“{title}” archived.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/delete_session.py" />
            <source>“{title}” moved to the trash.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/session_places.py" />
            <source>“{title}” pinned.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/session_places.py" />
            <source>“{title}” unarchived.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <location filename="../../helix_desktop/ui/workspaces/session_places.py" />
            <source>“{title}” unpinned.</source>
            <translation type="unfinished" />
        </message>
    </context>
</TS>
