# Installs a set-up for this user without questions, proves the app, installs over it with data kept, removes it.
# For a throw-away machine. Usage: try-windows.ps1 SETUP
param([Parameter(Mandatory)][string] $Setup)
$ErrorActionPreference = 'Stop'
$place = Join-Path $env:LOCALAPPDATA 'Programs\HelixDesktop'
$data = Join-Path $env:LOCALAPPDATA 'helix-desktop'
$menu = Join-Path $env:APPDATA 'Microsoft\Windows\Start Menu\Programs\Helix Desktop.lnk'
$listed = 'HKCU:\Software\Microsoft\Windows\CurrentVersion\Uninstall\HelixDesktop'
$env:QT_QPA_PLATFORM = 'offscreen'

function Invoke-Waiting([string] $Program, [string[]] $Words) {
    $done = Start-Process -FilePath $Program -ArgumentList $Words -Wait -PassThru
    if ($done.ExitCode -ne 0) { throw "$Program $Words ended with $($done.ExitCode)" }
}

function Assert-Works {
    & (Join-Path $place 'helix-desktop.com') self-check
    if ($LASTEXITCODE -ne 0) { throw "the self-check ended with $LASTEXITCODE" }
}

Invoke-Waiting $Setup @('/S')
foreach ($made in $menu, $listed, 'HKCU:\Software\Classes\helix', 'HKCU:\Software\Classes\.helix') {
    if (-not (Test-Path $made)) { throw "the set-up did not make $made" }
}
Assert-Works
New-Item -ItemType Directory -Force $data | Out-Null
Set-Content (Join-Path $data 'kept.txt') 'kept'

Invoke-Waiting $Setup @('/S')
Assert-Works
if (-not (Test-Path (Join-Path $data 'kept.txt'))) { throw 'an upgrade took data away' }

# `_?=` keeps the uninstaller from copying itself away, so that its end can be waited for; its own file then stays.
Invoke-Waiting (Join-Path $place 'uninstall.exe') @('/S', "_?=$place")
$left = @(Get-ChildItem $place -Recurse -File -ErrorAction SilentlyContinue | Where-Object Name -NE 'uninstall.exe')
if ($left) { throw "removing left $($left.FullName -join ', ')" }
foreach ($made in $menu, $listed, 'HKCU:\Software\Classes\helix') {
    if (Test-Path $made) { throw "removing left $made" }
}
if (-not (Test-Path (Join-Path $data 'kept.txt'))) { throw 'removing took data away' }
Write-Output 'try-windows: installed, proved, installed over, removed'
