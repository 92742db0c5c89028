/* Starts the Python that lies beside it: helix-desktop.exe without a console, helix-desktop.com in one. */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <shellapi.h>
#include <stdio.h>
#include <stdlib.h>
#include <wchar.h>

#define ROOM 32768
#define CANNOT_START 70

typedef int (*py_main_t)(int, wchar_t **);

static int fail(const wchar_t *what)
{
    DWORD error = GetLastError();
    wchar_t text[1024];
    _snwprintf(text, 1023, L"Helix Desktop can't start: %ls (error %lu).\nReinstall it.", what, error);
    text[1023] = 0;
#ifdef WINDOWED
    MessageBoxW(NULL, text, L"Helix Desktop", MB_ICONERROR | MB_SETFOREGROUND);
#else
    fwprintf(stderr, L"%ls\n", text);
#endif
    return CANNOT_START;
}

static int launch(void)
{
    static wchar_t own[ROOM], library[ROOM];
    static const wchar_t *words[] = {L"-I", L"-B", L"-X", L"utf8", L"-m", L"helix_boot"};
    const int added = sizeof words / sizeof *words;
    wchar_t *end, **given, **arguments;
    HMODULE python;
    py_main_t py_main;
    DWORD size;
    int count, i;

    /* No library comes from the current folder, whatever folder that is. */
    SetDllDirectoryW(L"");
    SetDefaultDllDirectories(LOAD_LIBRARY_SEARCH_DEFAULT_DIRS);
    size = GetModuleFileNameW(NULL, own, ROOM);
    if (size == 0 || size >= ROOM)
        return fail(L"its folder was not found");
    wcscpy(library, own);
    end = wcsrchr(library, L'\\');
    if (!end || end - library > ROOM - 32)
        return fail(L"its folder was not found");
    wcscpy(end + 1, L"python312.dll");
    python = LoadLibraryExW(library, NULL, LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR | LOAD_LIBRARY_SEARCH_DEFAULT_DIRS);
    if (!python)
        return fail(library);
    py_main = (py_main_t)(void *)GetProcAddress(python, "Py_Main");
    given = CommandLineToArgvW(GetCommandLineW(), &count);
    if (!py_main || !given)
        return fail(library);
    arguments = calloc((size_t)count + added + 2, sizeof *arguments);
    if (!arguments)
        return fail(L"out of memory");
    arguments[0] = own;
    for (i = 0; i < added; i++)
        arguments[i + 1] = (wchar_t *)words[i];
    for (i = 1; i < count; i++)
        arguments[added + i] = given[i];
    return py_main(added + (count > 0 ? count : 1), arguments);
}

#ifdef WINDOWED
int WINAPI wWinMain(HINSTANCE own, HINSTANCE former, PWSTR line, int show)
{
    (void)own; (void)former; (void)line; (void)show;
    return launch();
}
#else
int wmain(void)
{
    return launch();
}
#endif
