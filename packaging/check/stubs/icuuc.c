/* For checks under Wine only, never shipped: Windows has icuuc.dll since version 1703, Wine has none, and Qt is linked
   to it for rare text encodings. Every call says that it failed, and Qt goes on with UTF-8, UTF-16 and Latin-1. */
#define SHARED __declspec(dllexport)
#define FAILS(name) SHARED void *name(void) { return 0; }
#define ERROR_CODE 2

SHARED void *ucnv_open(const char *name, int *error)
{
    (void)name;
    if (error)
        *error = ERROR_CODE;
    return 0;
}
SHARED signed char ucnv_getMaxCharSize(void *converter)
{
    (void)converter;
    return 4;
}
FAILS(ucnv_close) FAILS(ucnv_reset) FAILS(ucnv_getName) FAILS(ucnv_getToUCallBack) FAILS(ucnv_getFromUCallBack)
FAILS(ucnv_setToUCallBack) FAILS(ucnv_setFromUCallBack) FAILS(ucnv_cbToUWriteUChars) FAILS(ucnv_cbFromUWriteUChars)
FAILS(ucnv_toUnicode) FAILS(ucnv_fromUnicode) FAILS(ucnv_toUCountPending) FAILS(ucnv_fromUCountPending)
FAILS(ucnv_getStandardName) FAILS(ucnv_getAvailableName) FAILS(ucnv_countAvailable)
FAILS(UCNV_FROM_U_CALLBACK_SUBSTITUTE) FAILS(UCNV_TO_U_CALLBACK_SUBSTITUTE)
