; The set-up and the uninstaller. Made by packaging/windows/setup_program.py, which defines:
;   VERSION, NUMBERS (four of them), TREE, TARGET, ICON, INSTALLED and REMOVED (commands for exactly the tree's files),
;   SIZE (KB), PUBLISHER, WELCOME and HEADER (pictures); and SIGN, a command, when programs are signed.
; Exit codes: 0 installed or removed, 1 cancelled, 2 failed, 3 Windows too old, 4 Helix Desktop is running.

Target amd64-unicode
Unicode true
!ifdef QUICK
  SetCompressor zlib
!else
  SetCompressor /SOLID lzma
  SetCompressorDictSize 64
!endif
SetDateSave off                         ; when a file was made is no part of it: the same commit gives the same bytes
ManifestDPIAware true
ManifestLongPathAware true
ManifestSupportedOS Win10
RequestExecutionLevel user
AllowSkipFiles off
CRCCheck force

!include "MUI2.nsh"
!include "FileFunc.nsh"
!include "LogicLib.nsh"
!include "WinVer.nsh"

!define APP "Helix Desktop"
!define ID "HelixDesktop"
!define PROGRAM "helix-desktop.exe"
!define LIBRARY "python312.dll"          ; every running Helix Desktop holds it, with a window or without one
!define OWN_KEY "Software\HelixDesktop"
!define LIST_KEY "Software\Microsoft\Windows\CurrentVersion\Uninstall\${ID}"
!define CLASSES "Software\Classes"
!define FILE_CLASS "HelixDesktop.Workspace"
!define LEAST_BUILD 17763                ; Windows 10, version 1809: what Qt needs

Name "${APP}"
OutFile "${TARGET}"
BrandingText "${APP} ${VERSION}"
InstallDir "$LOCALAPPDATA\Programs\${ID}"
InstallDirRegKey HKCU "${OWN_KEY}" "InstallDir"

VIProductVersion "${NUMBERS}"
VIFileVersion "${NUMBERS}"
VIAddVersionKey "ProductName" "${APP}"
VIAddVersionKey "ProductVersion" "${VERSION}"
VIAddVersionKey "FileDescription" "${APP} setup"
VIAddVersionKey "FileVersion" "${VERSION}"
VIAddVersionKey "CompanyName" "${PUBLISHER}"
VIAddVersionKey "LegalCopyright" "${PUBLISHER}, MIT License"

!ifdef SIGN
  !uninstfinalize '${SIGN} "%1"'
!endif

!define MUI_ICON "${ICON}"
!define MUI_UNICON "${ICON}"
!define MUI_WELCOMEFINISHPAGE_BITMAP "${WELCOME}"
!define MUI_HEADERIMAGE
!define MUI_HEADERIMAGE_RIGHT
!define MUI_HEADERIMAGE_BITMAP "${HEADER}"
!define MUI_HEADERIMAGE_UNBITMAP "${HEADER}"
!define MUI_ABORTWARNING
!define MUI_WELCOMEPAGE_TEXT "This installs ${APP} ${VERSION} for your user account. No administrator rights are needed.$\r$\n$\r$\nAn older version is replaced. Your sessions, settings and keys are kept.$\r$\n$\r$\nClick Next to continue."
!define MUI_FINISHPAGE_RUN "$INSTDIR\${PROGRAM}"
!define MUI_FINISHPAGE_RUN_TEXT "Start ${APP}"
!define MUI_UNCONFIRMPAGE_TEXT_TOP "${APP} will be removed from this computer. Your sessions and settings are kept in $LOCALAPPDATA\helix-desktop, and your keys in the Windows Credential Manager."

!insertmacro MUI_PAGE_WELCOME
!insertmacro MUI_PAGE_LICENSE "${TREE}/LICENSE.txt"
!define MUI_PAGE_CUSTOMFUNCTION_LEAVE CheckFolder
!insertmacro MUI_PAGE_DIRECTORY
!insertmacro MUI_PAGE_INSTFILES
!insertmacro MUI_PAGE_FINISH
!insertmacro MUI_UNPAGE_CONFIRM
!insertmacro MUI_UNPAGE_INSTFILES
!insertmacro MUI_LANGUAGE "English"

; Stops with exit code 4 as long as a Helix Desktop of $INSTDIR runs: what is in use cannot be replaced.
!macro WaitUntilClosed doing
  retry:
    IfFileExists "$INSTDIR\${LIBRARY}" 0 closed
    ClearErrors
    FileOpen $0 "$INSTDIR\${LIBRARY}" a
    IfErrors 0 free
      MessageBox MB_RETRYCANCEL|MB_ICONEXCLAMATION "${APP} is running.$\r$\n$\r$\nClose its window and programs that use its cache, then choose Retry. Nothing has been ${doing} yet." /SD IDCANCEL IDRETRY retry
      SetErrorLevel 4
      Quit
  free:
    FileClose $0
  closed:
!macroend

!macro RefreshShell
  System::Call 'shell32::SHChangeNotify(i 0x08000000, i 0, p 0, p 0)'
!macroend

; A folder of the person's, or the place of their data, must never be taken for the program's.
!macro FolderIsGood yes no
  StrCmp "$INSTDIR" "$LOCALAPPDATA\helix-desktop" ${no}
  StrLen $1 "$LOCALAPPDATA\helix-desktop\"
  StrCpy $0 "$INSTDIR" $1
  StrCmp $0 "$LOCALAPPDATA\helix-desktop\" ${no}
  IfFileExists "$INSTDIR\settings.toml" ${no}
  IfFileExists "$INSTDIR\workspaces\*.*" ${no}
  ; Other programs have a Python and an uninstaller, too.
  IfFileExists "$INSTDIR\${PROGRAM}" ${yes}
  ReadRegStr $0 HKCU "${OWN_KEY}" "InstallDir"
  StrCmp $0 "$INSTDIR" ${yes}
  FindFirst $0 $1 "$INSTDIR\*"
  look:
    StrCmp $1 "" empty
    StrCmp $1 "." next
    StrCmp $1 ".." next
    FindClose $0
    Goto ${no}
  next:
    FindNext $0 $1
    Goto look
  empty:
    FindClose $0
    Goto ${yes}
!macroend

!define BAD_FOLDER "$INSTDIR is not empty, or contains the data of ${APP}.$\r$\n$\r$\nChoose an empty or new folder."

Function CheckFolder
  !insertmacro FolderIsGood good bad
  bad:
    MessageBox MB_OK|MB_ICONEXCLAMATION "${BAD_FOLDER}"
    Abort
  good:
FunctionEnd

Function .onInit
  ${IfNot} ${AtLeastBuild} ${LEAST_BUILD}
    MessageBox MB_OK|MB_ICONSTOP "${APP} requires Windows 10 (version 1809) or newer." /SD IDOK
    SetErrorLevel 3
    Quit
  ${EndIf}
FunctionEnd

Section "install"
  SetShellVarContext current
  IfSilent 0 good
    !insertmacro FolderIsGood good bad
  bad:
    SetErrorLevel 2
    Quit
  good:
  !insertmacro WaitUntilClosed "changed"
  IfFileExists "$INSTDIR\${PROGRAM}" 0 replaced
  IfFileExists "$INSTDIR\uninstall.exe" 0 replaced
    DetailPrint "Removing the previous version"
    ; It knows exactly what it had installed. Run from another place, so that its own file can be replaced.
    InitPluginsDir
    CopyFiles /SILENT "$INSTDIR\uninstall.exe" "$PLUGINSDIR\former.exe"
    ClearErrors
    ExecWait '"$PLUGINSDIR\former.exe" /S /UPGRADE _?=$INSTDIR' $0
    IfErrors failed
    StrCmp $0 "0" replaced
    StrCmp $0 "4" 0 failed
      SetErrorLevel 4
      Quit
  failed:
    MessageBox MB_OK|MB_ICONSTOP "The previous version couldn't be removed (code $0).$\r$\n$\r$\nRemove it in Settings, Apps, then install again. Your data is kept." /SD IDOK
    SetErrorLevel 2
    Quit
  replaced:
  WriteRegStr HKCU "${OWN_KEY}" "InstallDir" "$INSTDIR"    ; first: a set-up that is cut off can be begun again
  SetOutPath "$INSTDIR"
  SetOverwrite on
  !include "${INSTALLED}"
  SetOutPath "$INSTDIR"
  WriteUninstaller "$INSTDIR\uninstall.exe"

  CreateShortcut "$SMPROGRAMS\${APP}.lnk" "$INSTDIR\${PROGRAM}" "" "$INSTDIR\${PROGRAM}" 0 SW_SHOWNORMAL "" "AI coding agent whose context you see and control"

  WriteRegStr HKCU "${LIST_KEY}" "DisplayName" "${APP}"
  WriteRegStr HKCU "${LIST_KEY}" "DisplayVersion" "${VERSION}"
  WriteRegStr HKCU "${LIST_KEY}" "Publisher" "${PUBLISHER}"
  WriteRegStr HKCU "${LIST_KEY}" "DisplayIcon" "$INSTDIR\${PROGRAM}"
  WriteRegStr HKCU "${LIST_KEY}" "InstallLocation" "$INSTDIR"
  WriteRegStr HKCU "${LIST_KEY}" "UninstallString" '"$INSTDIR\uninstall.exe"'
  WriteRegStr HKCU "${LIST_KEY}" "QuietUninstallString" '"$INSTDIR\uninstall.exe" /S'
  WriteRegDWORD HKCU "${LIST_KEY}" "EstimatedSize" ${SIZE}
  WriteRegDWORD HKCU "${LIST_KEY}" "NoModify" 1
  WriteRegDWORD HKCU "${LIST_KEY}" "NoRepair" 1

  WriteRegStr HKCU "${CLASSES}\.helix" "" "${FILE_CLASS}"
  WriteRegStr HKCU "${CLASSES}\.helix\OpenWithProgids" "${FILE_CLASS}" ""
  WriteRegStr HKCU "${CLASSES}\${FILE_CLASS}" "" "${APP} workspace"
  WriteRegStr HKCU "${CLASSES}\${FILE_CLASS}\DefaultIcon" "" "$INSTDIR\${PROGRAM},0"
  WriteRegStr HKCU "${CLASSES}\${FILE_CLASS}\shell\open\command" "" '"$INSTDIR\${PROGRAM}" "%1"'
  !insertmacro RefreshShell
SectionEnd

Section "Uninstall"
  SetShellVarContext current
  !insertmacro WaitUntilClosed "removed"
  SetOutPath "$TEMP"                     ; a current folder cannot be removed
  DetailPrint "Removing program files"
  SetDetailsPrint none                   ; thousands of lines would take longer than their files
  !include "${REMOVED}"
  SetDetailsPrint both
  ${GetParameters} $0
  ClearErrors
  ${GetOptions} $0 "/UPGRADE" $1
  IfErrors 0 done                        ; the newer version takes over what is registered
    Delete "$INSTDIR\uninstall.exe"
    RMDir "$INSTDIR"
    Delete "$SMPROGRAMS\${APP}.lnk"
    DeleteRegKey HKCU "${LIST_KEY}"
    DeleteRegKey HKCU "${OWN_KEY}"
    DeleteRegKey HKCU "${CLASSES}\${FILE_CLASS}"
    DeleteRegValue HKCU "${CLASSES}\.helix\OpenWithProgids" "${FILE_CLASS}"
    DeleteRegKey /ifempty HKCU "${CLASSES}\.helix\OpenWithProgids"
    ReadRegStr $0 HKCU "${CLASSES}\.helix" ""
    StrCmp $0 "${FILE_CLASS}" 0 +2
      DeleteRegValue HKCU "${CLASSES}\.helix" ""
    DeleteRegKey /ifempty HKCU "${CLASSES}\.helix"
    !insertmacro RefreshShell
  done:
SectionEnd
