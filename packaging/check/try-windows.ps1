# Installs a set-up for this user without questions, proves the app, installs over it with data kept, removes it.
# For a throw-away machine. Usage: try-windows.ps1 SETUP
param([Parameter(Mandatory)][string] $Setup)
$ErrorActionPreference = 'Stop'
$place = Join-Path $env:LOCALAPPDATA 'Programs\HelixDesktop'
$data = Join-Path $env:LOCALAPPDATA 'helix-desktop'

function Invoke-Waiting([string] $Program, [string[]] $Words) {
    $done = Start-Process -FilePath $Program -ArgumentList $Words -Wait -PassThru
    if ($done.ExitCode -ne 0) { throw "$Program $Words ended with $($done.ExitCode)" }
}

Invoke-Waiting $Setup @('/S')
$program = Get-ChildItem $place -Filter 'helix-desktop.exe' -Recurse | Select-Object -First 1
if (-not $program) { throw "nothing was installed in $place" }
$env:QT_QPA_PLATFORM = 'offscreen'
Invoke-Waiting $program.FullName @('self-check')
New-Item -ItemType Directory -Force $data | Out-Null
Set-Content (Join-Path $data 'kept.txt') 'kept'

Invoke-Waiting $Setup @('/S')
Invoke-Waiting $program.FullName @('self-check')
if (-not (Test-Path (Join-Path $data 'kept.txt'))) { throw 'an upgrade took data away' }

$uninstaller = Get-ChildItem $place -Filter 'uninstall*.exe' | Select-Object -First 1
# `_?=` keeps the uninstaller from copying itself away, so that its end can be waited for.
Invoke-Waiting $uninstaller.FullName @('/S', "_?=$place")
if (Test-Path $program.FullName) { throw 'the program is still there' }
if (-not (Test-Path (Join-Path $data 'kept.txt'))) { throw 'removing took data away' }
Write-Output 'try-windows: installed, proved, installed over, removed'
